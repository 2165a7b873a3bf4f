/** The page's state: the view, kept in the address and in the browser, and the runs that the server knows. */

import { type ReadonlySignal, batch, computed, signal } from "@preact/signals";
import { address } from "../api/client";
import { queries } from "../api/queries";
import type { ProfileInfo } from "../api/profile-types";
import type { RunInfo, RunsAnswer } from "../api/types";
import { addressWindow } from "../host/frame";
import { readHash, writeHash } from "../host/hash";
import { visible } from "../host/visibility";
import { readPreference, writePreference } from "./preferences";
import { MAX_SHOWN, selectedRuns } from "./selection";
import { type View, DEFAULT_VIEW, viewFromValues, viewToValues } from "./view";

const current = signal<View>(DEFAULT_VIEW);
export const view: ReadonlySignal<View> = current;

/** Settings that follow the reader from one log directory to the next, unlike a selection or a zoom. */
const LASTING = ["panel", "x", "y", "outliers"] as const;

function storedValues(): Map<string, string> {
  const stored = readPreference("view");
  return stored === null ? new Map() : readHash(stored);
}

function readView(): View {
  const stored = storedValues();
  // Out of reach of the address, the browser's memory is all there is.
  if (!addressWindow) return viewFromValues(stored);
  const inAddress = readHash(addressWindow.location.hash);
  if (inAddress.size > 0) return viewFromValues(inAddress);
  return viewFromValues(new Map([...stored].filter(([name]) => (LASTING as readonly string[]).includes(name))));
}

function saveView(next: View): void {
  const values = viewToValues(next);
  writePreference("view", writeHash("", values));
  if (!addressWindow) return;
  const { history, location } = addressWindow;
  // replaceState fires no hashchange, so TensorBoard's own router is left in peace.
  history.replaceState(history.state, "", location.pathname + location.search + writeHash(location.hash, values));
}

export function setView(change: Partial<View>): void {
  current.value = { ...current.peek(), ...change };
  saveView(current.peek());
}

export function followAddress(): void {
  current.value = readView();
  const reread = (): void => {
    if (addressWindow) current.value = viewFromValues(readHash(addressWindow.location.hash));
  };
  addressWindow?.addEventListener("hashchange", reread);
  addressWindow?.addEventListener("popstate", reread);
}

export const runsAddress = (): string => address("api/v1/runs");
/** The list of runs with its load state. */
export const runsState = computed(() => queries.get<RunsAnswer>(runsAddress()).value);
export const catalogue = computed(() => runsState.value.data);

export const selection: ReadonlySignal<RunInfo[]> = computed(() =>
  selectedRuns(catalogue.value?.runs ?? [], view.value.runs),
);
/** The runs with a column. */
export const shownRuns: ReadonlySignal<RunInfo[]> = computed(() => selection.value.slice(0, MAX_SHOWN));

/** Data is newer than what is shown; fetched once somebody looks. */
const stale = signal(false);

export function reload(): void {
  if (visible.peek()) queries.reload();
  else stale.value = true;
}

export function reloadWhenSeen(): void {
  visible.subscribe((isVisible) => {
    if (!isVisible || !stale.peek()) return;
    batch(() => {
      stale.value = false;
      queries.reload();
    });
  });
}

export function setZoom(from: number | null, to: number | null): void {
  setView({ from, to });
}

/** Go to the panel Profile with a window of `run`; place: of the step whose timeline is shown, null: a typical one. */
export function openProfile(run: string, { attempt, window }: ProfileInfo, place: number | null = null): void {
  setView({ panel: "profile", profile: { run, attempt, window }, profileStep: place });
}

export function toggleStage(key: string): void {
  const { hidden } = view.peek();
  setView({ hidden: hidden.includes(key) ? hidden.filter((other) => other !== key) : [...hidden, key] });
}

export function toggleRun(run: string, on: boolean): void {
  const names = selection.peek().map((info) => info.run);
  setView({ runs: on ? [...names.filter((name) => name !== run), run] : names.filter((name) => name !== run) });
}
