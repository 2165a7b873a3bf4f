/** What the reader is looking at, and how it is written in the address. */

export type XAxis = "step" | "relative" | "wall";

/** A recorded window of a run. */
export interface ProfileChoice {
  run: string;
  attempt: string;
  window: number;
}

export interface View {
  panel: string;
  /** Selected runs; null: the default selection. */
  runs: readonly string[] | null;
  /** null: each run's first loop. */
  loop: string | null;
  /** Chosen attempt by run; a run without an entry shows all its attempts merged. */
  attempts: Readonly<Record<string, string>>;
  /** Window in steps, inclusive; null: from the first, to the last. */
  from: number | null;
  to: number | null;
  /** Regular expression over run names. */
  filter: string;
  x: XAxis;
  logY: boolean;
  /** Cut the y axis above the bulk of the steps. */
  ignoreOutliers: boolean;
  /** Stages switched off in the charts. */
  hidden: readonly string[];
  /** null: the newest window of the first selected run that has one. */
  profile: ProfileChoice | null;
  /** The window that the profile is compared with; null: the one before it. */
  against: ProfileChoice | null;
  /** Place of the step whose timeline is shown; null: a typical one. */
  profileStep: number | null;
}

export const DEFAULT_VIEW: View = {
  panel: "overview",
  runs: null,
  loop: null,
  attempts: {},
  from: null,
  to: null,
  filter: "",
  x: "step",
  logY: false,
  ignoreOutliers: true,
  hidden: [],
  profile: null,
  against: null,
  profileStep: null,
};

/** Commas part the items, so a comma inside one is escaped, and so is the escape. */
const escapeItem = (item: string): string => item.replace(/%/g, "%25").replace(/,/g, "%2C");
const unescapeItem = (item: string): string => item.replace(/%2C/g, ",").replace(/%25/g, "%");
const joinList = (items: readonly string[]): string => items.map(escapeItem).join(",");
const splitList = (text: string): string[] => (text === "" ? [] : text.split(",").map(unescapeItem));

function parseStep(text: string | undefined): number | null {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : null;
}

const parsePlace = (text: string | undefined): number | null =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : null;

/** The values that differ from the defaults, by key. */
export function viewToValues(view: View): Map<string, string> {
  const values = new Map<string, string>();
  if (view.panel !== DEFAULT_VIEW.panel) values.set("panel", view.panel);
  if (view.runs !== null) values.set("runs", joinList(view.runs));
  if (view.loop !== null) values.set("loop", view.loop);
  // An attempt's id holds no "@", a run's name may.
  const attempts = Object.entries(view.attempts).map(([run, attempt]) => `${attempt}@${run}`);
  if (attempts.length > 0) values.set("attempt", joinList(attempts));
  if (view.from !== null) values.set("from", String(view.from));
  if (view.to !== null) values.set("to", String(view.to));
  if (view.filter !== "") values.set("filter", view.filter);
  if (view.x !== "step") values.set("x", view.x);
  if (view.logY) values.set("y", "log");
  if (!view.ignoreOutliers) values.set("outliers", "show");
  if (view.hidden.length > 0) values.set("hide", joinList(view.hidden));
  if (view.profile !== null) values.set("profile", profileText(view.profile));
  if (view.against !== null) values.set("against", profileText(view.against));
  if (view.profileStep !== null) values.set("pstep", String(view.profileStep));
  return values;
}

export const profileText = ({ run, attempt, window }: ProfileChoice): string => `${window}@${attempt}@${run}`;

export function parseProfile(text: string): ProfileChoice | null {
  const [, window, attempt, run] = /^(\d+)@([^@]+)@(.+)$/s.exec(text) ?? [];
  return window && attempt && run ? { run, attempt, window: Number(window) } : null;
}

/** The view that `values` describe; what is missing or makes no sense takes its default. */
export function viewFromValues(values: ReadonlyMap<string, string>): View {
  const attempts: Record<string, string> = {};
  for (const item of splitList(values.get("attempt") ?? "")) {
    const at = item.indexOf("@");
    if (at > 0) attempts[item.slice(at + 1)] = item.slice(0, at);
  }
  const runs = values.get("runs");
  const x = values.get("x");
  const from = parseStep(values.get("from"));
  const to = parseStep(values.get("to"));
  const ordered = from === null || to === null || from <= to;
  return {
    panel: values.get("panel") ?? DEFAULT_VIEW.panel,
    runs: runs === undefined ? null : splitList(runs),
    loop: values.get("loop") ?? null,
    attempts,
    from: ordered ? from : null,
    to: ordered ? to : null,
    filter: values.get("filter") ?? "",
    x: x === "relative" || x === "wall" ? x : "step",
    logY: values.get("y") === "log",
    ignoreOutliers: values.get("outliers") !== "show",
    hidden: splitList(values.get("hide") ?? ""),
    profile: parseProfile(values.get("profile") ?? ""),
    against: parseProfile(values.get("against") ?? ""),
    profileStep: parsePlace(values.get("pstep")),
  };
}
