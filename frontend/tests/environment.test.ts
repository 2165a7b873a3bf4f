import { describe, expect, it } from "vitest";
import { groupEnvironment } from "../src/panels/overview/environment";

describe("the environment", () => {
  it("is grouped, lists of objects one by one, and null is not a value", () => {
    const groups = groupEnvironment({
      accelerators: [],
      versions: { torch: "2.13.0", nccl: null },
      host: { memory_bytes: 2 ** 30, cpu: { cores: 2 } },
      loaders: [
        { role: "train", pin_memory: false },
        { role: "validate", pin_memory: true },
      ],
      variables: {},
    });
    expect(groups.map((group) => group.title)).toEqual([
      "General",
      "Versions",
      "Host",
      "Loaders, 1 of 2",
      "Loaders, 2 of 2",
    ]);
    expect(groups[0]?.facts).toEqual([{ path: "accelerators", name: "Accelerators", text: "none" }]);
    expect(groups[1]).toEqual({
      title: "Versions",
      facts: [{ path: "versions.torch", name: "Torch", text: "2.13.0" }],
      missing: ["NCCL"],
    });
    expect(groups[2]?.facts.map(({ path, name, text }) => [path, name, text.replace("\u00a0", " ")])).toEqual([
      ["host.memory_bytes", "Memory", "1.00 GiB"],
      ["host.cpu.cores", "CPU: Cores", "2"],
    ]);
    expect(groups[4]?.facts.map((fact) => [fact.path, fact.text])).toEqual([
      ["loaders.1.role", "validate"],
      ["loaders.1.pin_memory", "yes"],
    ]);
  });
});
