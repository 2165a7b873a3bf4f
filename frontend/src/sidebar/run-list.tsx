import { useState } from "preact/hooks";
import type { RunInfo } from "../api/types";
import { count, plural } from "../format/number";
import type { RunGroup } from "../state/selection";
import { Swatch } from "../ui/swatch";

interface Props {
  groups: readonly RunGroup[];
  selected: ReadonlySet<string>;
  colors: ReadonlyMap<string, string>;
  onToggle: (run: string, on: boolean) => void;
}

/** Trainings by name; the ranks of one under its name. */
export function RunList(props: Props) {
  return (
    <ul class="run-list">
      {props.groups.map(({ group, runs }) => {
        const [first, ...ranks] = runs;
        if (!first) return null;
        return (
          <li key={group}>
            <RunCheck run={first} label={first.run} {...props} />
            {ranks.length > 0 && <Ranks ranks={ranks} {...props} />}
          </li>
        );
      })}
    </ul>
  );
}

/** How many steps, or where there are none, how many profiles. */
function amountText({ loops: [first], profiles = [] }: RunInfo): string {
  if (first) return count(first.steps);
  return profiles.length > 0 ? plural(profiles.length, "profile") : "";
}

function Ranks({ ranks, ...props }: Props & { ranks: readonly RunInfo[] }) {
  const chosen = ranks.some((run) => props.selected.has(run.run));
  const [open, setOpen] = useState(chosen);
  return (
    <details class="ranks" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {count(ranks.length)} more {ranks.length === 1 ? "rank" : "ranks"}
      </summary>
      <ul class="run-list">
        {ranks.map((run) => (
          <li key={run.run}>
            <RunCheck run={run} label={`rank ${run.rank}`} {...props} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function RunCheck({ run, label, selected, colors, onToggle }: Omit<Props, "groups"> & { run: RunInfo; label: string }) {
  return (
    <label class="run-check" title={run.run}>
      <input
        type="checkbox"
        checked={selected.has(run.run)}
        onChange={(event) => onToggle(run.run, event.currentTarget.checked)}
      />
      <Swatch color={colors.get(run.run) ?? "transparent"} round />
      <span class="run-label">{label}</span>
      <span class="run-steps">{amountText(run)}</span>
    </label>
  );
}
