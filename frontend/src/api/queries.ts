/** A cache of answers by address, each a signal, with reload, abort and a guard against answers that arrive late. */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { getJson } from "./client";

export interface Remote<T> {
  /** The newest answer; kept while a newer one is on its way and when that fails. */
  data: T | null;
  loading: boolean;
  error: string | null;
}

interface Entry {
  state: Signal<Remote<unknown>>;
  users: number;
  /** Number of the newest request; the answer to an older one is dropped. */
  sequence: number;
  abort: AbortController | null;
}

/** Answers kept although nothing shows them, so that going back is instant. */
const KEPT_UNUSED = 40;

export type Fetcher = (url: string, signal: AbortSignal) => Promise<unknown>;

export class QueryCache {
  private readonly entries = new Map<string, Entry>();
  private readonly fetcher: Fetcher;
  private readonly keptUnused: number;

  constructor(fetcher: Fetcher = getJson, keptUnused: number = KEPT_UNUSED) {
    this.fetcher = fetcher;
    this.keptUnused = keptUnused;
  }

  /** The state of `url`; the first call starts the request. */
  get<T>(url: string): ReadonlySignal<Remote<T>> {
    let entry = this.entries.get(url);
    if (!entry) {
      entry = { state: signal({ data: null, loading: true, error: null }), users: 0, sequence: 0, abort: null };
      this.entries.set(url, entry);
      void this.request(url, entry);
    }
    return entry.state as ReadonlySignal<Remote<T>>;
  }

  retain(url: string): void {
    this.get(url);
    const entry = this.entries.get(url);
    if (!entry) return;
    entry.users += 1;
    // Move to the end: the map's order is the order of last use.
    this.entries.delete(url);
    this.entries.set(url, entry);
  }

  release(url: string): void {
    const entry = this.entries.get(url);
    if (!entry) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    if (entry.abort) {
      entry.abort.abort();
      this.entries.delete(url);
    }
    this.trim();
  }

  /** Fetch again what is shown; forget the rest. */
  reload(): void {
    for (const [url, entry] of [...this.entries]) {
      if (entry.users > 0) void this.request(url, entry);
      else this.entries.delete(url);
    }
  }

  retry(url: string): void {
    const entry = this.entries.get(url);
    if (entry) void this.request(url, entry);
  }

  private async request(url: string, entry: Entry): Promise<void> {
    entry.abort?.abort();
    const abort = new AbortController();
    entry.abort = abort;
    entry.sequence += 1;
    const { sequence } = entry;
    if (!entry.state.peek().loading) entry.state.value = { ...entry.state.peek(), loading: true };
    try {
      const data = await this.fetcher(url, abort.signal);
      if (sequence !== entry.sequence) return;
      entry.state.value = { data, loading: false, error: null };
    } catch (error) {
      if (sequence !== entry.sequence || abort.signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      entry.state.value = { ...entry.state.peek(), loading: false, error: message };
    }
    entry.abort = null;
  }

  private trim(): void {
    const unused = [...this.entries].filter(([, entry]) => entry.users <= 0);
    for (const [url] of unused.slice(0, Math.max(0, unused.length - this.keptUnused))) this.entries.delete(url);
  }
}

export const queries = new QueryCache();

/** Answers that never change once they are there: left alone by `queries.reload`. They are large, so few are kept. */
export const lastingQueries = new QueryCache(getJson, 3);

export interface SlotState<T> extends Remote<T> {
  /** The data answer an earlier request of this slot: shown until the answer to the present one arrives. */
  stale: boolean;
  retry: () => void;
}

/**
 * One answer per slot (a run, say). When a slot's address changes, its last answer stays until the new one arrives, so
 * that zooming does not blank the page.
 */
export function useSlots<T>(
  addresses: ReadonlyMap<string, string>,
  cache: QueryCache = queries,
): Map<string, SlotState<T>> {
  const last = useRef(new Map<string, T>());
  const held = useRef<string[]>([]);
  const [, redraw] = useState(0);
  const wanted = [...new Set(addresses.values())];
  const drawn = new Map(wanted.map((url) => [url, cache.get<T>(url)]));
  const identity = wanted.join("\n");

  useEffect(() => {
    // Retain first: an address that stays must not be released, and aborted, in between.
    for (const url of wanted) cache.retain(url);
    for (const url of held.current) cache.release(url);
    held.current = wanted;
    // Since the drawing, the last other user may have let go of an answer on its way: then it is asked for anew.
    if (wanted.some((url) => cache.get(url) !== drawn.get(url))) redraw((redrawn) => redrawn + 1);
    // `identity` stands for `wanted`, which is a new array in each call.
  }, [identity]);
  useEffect(
    () => () => {
      for (const url of held.current) cache.release(url);
      held.current = [];
    },
    [],
  );

  const states = new Map<string, SlotState<T>>();
  for (const [slot, url] of addresses) {
    const remote = cache.get<T>(url).value;
    if (remote.data !== null) last.current.set(slot, remote.data);
    const data = remote.data ?? last.current.get(slot) ?? null;
    states.set(slot, { ...remote, data, stale: remote.data === null, retry: () => cache.retry(url) });
  }
  for (const slot of [...last.current.keys()]) if (!addresses.has(slot)) last.current.delete(slot);
  return states;
}
