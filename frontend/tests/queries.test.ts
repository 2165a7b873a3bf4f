import { describe, expect, it } from "vitest";
import { QueryCache } from "../src/api/queries";

interface Request {
  url: string;
  signal: AbortSignal;
  answer: (data: unknown) => void;
  fail: (error: Error) => void;
}

function cacheWithRequests(): { cache: QueryCache; requests: Request[] } {
  const requests: Request[] = [];
  const cache = new QueryCache(
    (url, signal) =>
      new Promise((resolve, reject) => {
        requests.push({ url, signal, answer: resolve, fail: reject });
      }),
  );
  return { cache, requests };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

describe("the cache of answers", () => {
  it("asks once for an address, however many show it", async () => {
    const { cache, requests } = cacheWithRequests();
    cache.retain("a");
    cache.retain("a");
    expect(cache.get("a").value).toEqual({ data: null, loading: true, error: null });
    requests[0]?.answer(1);
    await settle();
    expect(requests).toHaveLength(1);
    expect(cache.get("a").value).toEqual({ data: 1, loading: false, error: null });
  });

  it("drops an answer that a newer request has overtaken", async () => {
    const { cache, requests } = cacheWithRequests();
    cache.retain("a");
    cache.reload();
    requests[1]?.answer("new");
    await settle();
    requests[0]?.answer("old");
    await settle();
    expect(requests[0]?.signal.aborted).toBe(true);
    expect(cache.get("a").value.data).toBe("new");
  });

  it("keeps the last answer while loading again and when that fails", async () => {
    const { cache, requests } = cacheWithRequests();
    cache.retain("a");
    requests[0]?.answer(1);
    await settle();
    cache.reload();
    expect(cache.get("a").value).toEqual({ data: 1, loading: true, error: null });
    requests[1]?.fail(new Error("gone"));
    await settle();
    expect(cache.get("a").value).toEqual({ data: 1, loading: false, error: "gone" });
    cache.retry("a");
    requests[2]?.answer(2);
    await settle();
    expect(cache.get("a").value).toEqual({ data: 2, loading: false, error: null });
  });

  it("aborts what nobody waits for, and asks again when somebody does", async () => {
    const { cache, requests } = cacheWithRequests();
    cache.retain("a");
    cache.release("a");
    expect(requests[0]?.signal.aborted).toBe(true);
    cache.retain("a");
    expect(requests).toHaveLength(2);
    requests[1]?.answer(3);
    await settle();
    expect(cache.get("a").value.data).toBe(3);
  });

  it("reloads what is shown and forgets the rest", async () => {
    const { cache, requests } = cacheWithRequests();
    for (const url of ["a", "b"]) cache.retain(url);
    for (const request of requests) request.answer(0);
    await settle();
    cache.release("b");
    cache.reload();
    expect(requests.map((request) => request.url)).toEqual(["a", "b", "a"]);
    cache.get("b");
    expect(requests).toHaveLength(4);
  });

  it("keeps at most forty answers that nothing shows", async () => {
    const { cache, requests } = cacheWithRequests();
    for (let index = 0; index < 50; index += 1) {
      cache.retain(`u${index}`);
      requests[index]?.answer(index);
      await settle();
      cache.release(`u${index}`);
    }
    cache.get("u10");
    expect(requests).toHaveLength(50);
    cache.get("u9");
    expect(requests).toHaveLength(51);
  });
});
