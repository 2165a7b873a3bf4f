/** What the profile says in short: headline, key figures, ranked findings, warnings, and where the trace file lies. */

import type { Dilation, Finding, ProfileAnswer } from "../../api/profile-types";
import { count, microseconds, plural, share, times } from "../../format/number";
import { wordsOf } from "../../format/words";
import { theme } from "../../host/theme";
import { type PaintedPart, definedTerms, definition, paintParts } from "../../state/definitions";
import { partColor } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { Swatch } from "../../ui/swatch";
import { Notice } from "../../ui/states";
import { stepsText, wholeSteps } from "./steps";
import { TraceFile } from "./trace-file";

interface Row extends Finding {
  place: number;
}

/** "1.60 × (1.50 × to 1.80 ×)". */
function dilationText({ factor, low, high }: Dilation): string {
  return low === null || high === null ? times(factor) : `${times(factor)} (${times(low)} to ${times(high)})`;
}

const range = ({ low, high }: Finding["speedup"]): string => `${times(low)} to ${times(high)}`;

const COLUMNS: readonly Column<Row>[] = [
  { title: "Rank", name: "place", raw: (row) => row.place, numeric: true },
  { title: "Cause", name: "cause", raw: (row) => row.cause },
  { title: "Share", name: "share", raw: (row) => row.share, cell: (row) => share(row.share), numeric: true },
  {
    title: "Speed-up",
    name: "speedup_expected",
    raw: (row) => row.speedup.expected,
    cell: (row) => times(row.speedup.expected),
    numeric: true,
  },
  {
    title: "Least",
    name: "speedup_low",
    raw: (row) => row.speedup.low,
    cell: (row) => times(row.speedup.low),
    numeric: true,
  },
  {
    title: "Most",
    name: "speedup_high",
    raw: (row) => row.speedup.high,
    cell: (row) => times(row.speedup.high),
    numeric: true,
  },
  { title: "Evidence", name: "evidence", raw: (row) => row.evidence, wraps: true },
  { title: "Action", name: "action", raw: (row) => row.action, wraps: true },
];

/** A cause is a category or an idle cause. */
function describeCause(
  cause: string,
  parts: readonly PaintedPart[],
): { title: string; paint: string; meaning: string } {
  const known = parts.find((part) => part.key === cause);
  return known ?? { title: wordsOf(cause), paint: partColor(cause, theme.value), meaning: "" };
}

export function FindingsCard({ answer, busy }: { answer: ProfileAnswer; busy: boolean }) {
  const { profile, step_time_us: time } = answer;
  const parts = [...paintParts("categories", theme.value), ...paintParts("idle_causes", theme.value)];
  const rows = profile.findings.map((finding, index) => ({ ...finding, place: index + 1 }));
  const counted = wholeSteps(profile.steps);
  const partial = profile.steps.length - counted.length;
  const rank = profile.rank ?? answer.rank;
  const world = profile.world_size ?? answer.world_size;
  const figures = [
    { term: "Median step", key: "profile.step_time.median", value: microseconds(time?.median) },
    { term: "Mean", key: "profile.step_time.mean", value: microseconds(time?.mean) },
    { term: "Shortest", key: "profile.step_time.min", value: microseconds(time?.min) },
    { term: "Longest", key: "profile.step_time.max", value: microseconds(time?.max) },
    { term: "n", key: "profile.step_time.n", value: count(time?.n) },
    ...(profile.profiler_overhead_us === null
      ? []
      : [{ term: "Profiler at work", key: "profile.overhead", value: microseconds(profile.profiler_overhead_us) }]),
    ...(answer.dilation
      ? [{ term: "Slowed down by profiling", key: "profile.dilation", value: dilationText(answer.dilation) }]
      : []),
  ];
  return (
    <Card
      kind="Findings"
      finding={answer.headline}
      scope={[
        profile.device,
        world !== null && world > 1 ? `rank ${count(rank)} of ${count(world)}` : null,
        stepsText(profile.steps),
        partial > 0 ? `${plural(partial, "partial step")} left out of these figures` : null,
      ]
        .filter(Boolean)
        .join(" · ")}
      busy={busy}
      csv={() => tableCsv(COLUMNS, rows)}
      table={() => (
        <DataTable
          caption="Findings, the largest first"
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => String(row.place)}
          full
        />
      )}
      definitions={definedTerms([
        ["Profile", "profile"],
        ["Step time", "profile.step_time"],
        ...figures.map(({ term, key }) => [term, key] as const),
        ["Partial step", "profile.partial"],
        ["Share", "profile.finding.share"],
        ["Speed-up", "profile.finding.speedup"],
      ])}
    >
      <dl class="figures">
        {figures.map(({ term, key, value }) => (
          <div key={key} title={definition(key) ?? undefined}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {rows.length === 0 ? (
        <p class="state">Nothing stands out: no cause of time spent is large enough to be named.</p>
      ) : (
        <ol class="findings">
          {rows.map((row) => (
            <FindingItem key={row.place} row={row} {...describeCause(row.cause, parts)} />
          ))}
        </ol>
      )}
      <Warnings warnings={[...(answer.damage ?? []), ...profile.warnings]} />
      <TraceFile path={profile.path} />
    </Card>
  );
}

interface ItemProps {
  row: Row;
  title: string;
  paint: string;
  meaning: string;
}

function FindingItem({ row, title, paint, meaning }: ItemProps) {
  return (
    <li class="finding">
      <p class="finding-head">
        <span class="finding-cause" title={meaning || undefined}>
          <Swatch color={paint} /> {title}
        </span>
        <span title={definition("profile.finding.share") ?? undefined}>
          <strong>{share(row.share)}</strong> of the step time
        </span>
        <span title={definition("profile.finding.speedup") ?? undefined}>
          speed-up <strong>{times(row.speedup.expected)}</strong> <span class="amount">({range(row.speedup)})</span>
        </span>
      </p>
      <p>{row.evidence}</p>
      <p class="finding-action">{row.action}</p>
    </li>
  );
}

/** More than these are folded away. */
const OPEN_WARNINGS = 2;

function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  const list = (
    <ul class="plain-list">
      {warnings.map((warning, index) => (
        <li key={index}>{warning}</li>
      ))}
    </ul>
  );
  return (
    <Notice kind="warning">
      {warnings.length <= OPEN_WARNINGS ? (
        list
      ) : (
        <details>
          <summary>{plural(warnings.length, "remark")} on what this trace does not tell or may tell wrongly</summary>
          {list}
        </details>
      )}
    </Notice>
  );
}
