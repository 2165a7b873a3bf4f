/** The whole page in a document of its own, with a server that answers as a test says. */

import { vi } from "vitest";

export interface Reply {
  status?: number;
  body: unknown;
}

/** What the server answers by route below `api/v1/`, and the addresses that were asked for; changed as a test goes. */
export interface Server {
  replies: Record<string, Reply>;
  requests: string[];
}

/** An empty document and a server; modules are loaded anew. */
export function freshPage(replies: Record<string, Reply>): Server {
  vi.resetModules();
  document.head.replaceChildren();
  document.body.replaceChildren();
  localStorage.clear();
  const server: Server = { replies, requests: [] };
  vi.stubGlobal("fetch", async (url: string) => {
    server.requests.push(url);
    const route = /api\/v1\/([a-z.-]+)/.exec(url)?.[1] ?? "";
    const { status = 200, body } = server.replies[route] ?? { status: 404, body: {} };
    return new Response(JSON.stringify(body), { status });
  });
  return server;
}

/** Render the page at an address. */
export async function start(hash = ""): Promise<void> {
  window.location.hash = hash;
  const { render } = await import("../src/index");
  await render();
}

export const plain = (text: string | null | undefined): string => (text ?? "").replace(/\u00a0/g, " ");

/** The texts of all that a selector finds. */
export const text = (selector: string): string[] =>
  [...document.querySelectorAll(selector)].map((node) => plain(node.textContent));

/** The card of a kind, such as "Findings". */
export const card = (kind: string): Element | undefined =>
  [...document.querySelectorAll(".card")].find((each) => each.querySelector(".card-kind")?.textContent === kind);
