import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Guest } from "../src/host/guest";

interface Sent {
  type: string;
  id: number;
  isReply: boolean;
}

function fakePort() {
  const sent: Sent[] = [];
  const port = {
    onmessage: null as ((event: { data: unknown }) => void) | null,
    postMessage: (data: string) => sent.push(JSON.parse(data) as Sent),
  };
  const receive = (message: object | string): void =>
    port.onmessage?.({ data: typeof message === "string" ? message : JSON.stringify(message) });
  return { guest: new Guest(port as unknown as MessagePort), sent, receive };
}

describe("messages with TensorBoard", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("answers each push and tells its listeners", () => {
    const { guest, sent, receive } = fakePort();
    const onReload = vi.fn();
    guest.on("experimental.DataReloaded", onReload);
    receive({ type: "experimental.DataReloaded", id: 7, payload: null, error: null, isReply: false });
    expect(onReload).toHaveBeenCalledOnce();
    expect(sent).toEqual([{ type: "experimental.DataReloaded", id: 7, payload: null, error: null, isReply: true }]);
  });

  it("hands over the reply to a message", async () => {
    const { guest, sent, receive } = fakePort();
    const answer = guest.send("experimental.GetRuns");
    receive({ type: "experimental.GetRuns", id: sent[0]?.id, payload: ["a"], error: null, isReply: true });
    await expect(answer).resolves.toEqual(["a"]);
  });

  it("stops waiting after two seconds", async () => {
    const { guest } = fakePort();
    const answer = guest.send("experimental.GetRuns");
    const failed = expect(answer).rejects.toThrow("did not answer");
    await vi.advanceTimersByTimeAsync(2000);
    await failed;
  });

  it("ignores what is no message", () => {
    const { sent, receive } = fakePort();
    receive("not json");
    receive({ id: 1 });
    expect(sent).toEqual([]);
  });
});
