import { render } from "preact";
import { describe, expect, it, vi } from "vitest";
import { QueryCache, useSlots } from "../src/api/queries";

describe("answers by slot", () => {
  it("arrive where one part of the page takes the place of another while they are on their way", async () => {
    const answers: ((data: string) => void)[] = [];
    const cache = new QueryCache(() => new Promise((resolve) => answers.push(resolve)));
    const Part = () => <p>{useSlots<string>(new Map([["slot", "a"]]), cache).get("slot")?.data ?? "loading"}</p>;
    const root = document.createElement("div");
    render(<Part key="old" />, root);
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    // Effects run after the drawing, the old part's clean-up before.
    await new Promise((resolve) => setTimeout(resolve, 150));
    render(<Part key="new" />, root);
    expect(root.textContent).toBe("loading");
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[1]?.("there");
    await vi.waitFor(() => expect(root.textContent).toBe("there"));
    render(null, root);
  });
});
