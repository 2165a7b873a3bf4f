/** The time between steps. */

import type { SegmentRow } from "../../api/types";
import { count, moment, plural, seconds } from "../../format/number";
import { definition, describeSegment } from "../../state/definitions";
import { Card } from "../../ui/card";
import { type Column, DataTable, runsCsv } from "../../ui/data-table";
import { RunGrid } from "./run-grid";
import { type RunSteps, largest } from "./run-steps";
import { stagesColumn } from "./stages-column";

function segmentsFinding(runs: readonly RunSteps[]): string {
  const rows = runs.flatMap((run) => run.answer.segments.map((segment) => ({ run, segment })));
  const longest = [...rows].sort((a, b) => (b.segment.wall_s ?? 0) - (a.segment.wall_s ?? 0))[0];
  if (!longest) return "No time between steps in this window";
  const total = rows.reduce((sum, { segment }) => sum + (segment.wall_s ?? 0), 0);
  const where = runs.length > 1 ? ` in ${longest.run.name}` : "";
  const title = describeSegment(longest.segment.key).title;
  return `${plural(rows.length, "stretch", "stretches")} between steps took ${seconds(total)}; the longest, ${title}${where}, ${seconds(longest.segment.wall_s)}`;
}

export function SegmentsCard({ runs }: { runs: readonly RunSteps[] }) {
  const whole = largest(runs.flatMap((run) => run.answer.segments.map((segment) => segment.wall_s))) ?? 0;
  const kinds = [...new Set(runs.flatMap((run) => run.answer.segments.map((segment) => segment.key)))];
  return (
    <Card
      kind="Between steps"
      finding={segmentsFinding(runs)}
      busy={runs.some((run) => run.busy)}
      csv={() =>
        runsCsv(
          runs,
          (run) => columnsOf(run, whole),
          (run) => run.answer.segments,
        )
      }
      definitions={[
        { term: "Time", text: definition("segment.wall") ?? "" },
        ...kinds.map(describeSegment).map(({ title, meaning }) => ({ term: title, text: meaning })),
      ]}
    >
      <RunGrid runs={runs}>
        {(run) => (
          <>
            {run.answer.segments.length > 0 ? (
              <DataTable
                caption={`Time between steps of ${run.name}`}
                columns={columnsOf(run, whole)}
                rows={run.answer.segments}
                rowKey={(_, index) => String(index)}
              />
            ) : (
              <p class="state">None in this window.</p>
            )}
            {run.answer.segments_total > run.answer.segments.length && (
              <p class="chart-note">
                The longest {count(run.answer.segments.length)} of {count(run.answer.segments_total)}.
              </p>
            )}
          </>
        )}
      </RunGrid>
    </Card>
  );
}

function columnsOf(run: RunSteps, whole: number): Column<SegmentRow>[] {
  const largestStage = (row: SegmentRow): string => {
    const [first] = Object.entries(row.stages_s).sort((a, b) => (b[1] ?? 0) - (a[1] ?? 0));
    if (!first) return "";
    const title = run.stages.find((stage) => stage.key === first[0])?.title ?? first[0];
    return `${title}, ${seconds(first[1])}`;
  };
  return [
    { title: "Kind", name: "segment", raw: (row) => row.key, cell: (row) => describeSegment(row.key).title },
    { title: "Before step", name: "step", raw: (row) => row.step, cell: (row) => count(row.step), numeric: true },
    {
      title: "Time",
      name: "wall_s",
      raw: (row) => row.wall_s,
      cell: (row) => seconds(row.wall_s),
      numeric: true,
      definition: definition("segment.wall"),
    },
    stagesColumn(run.stages, whole),
    { title: "Mostly", name: "largest_stage", raw: largestStage },
    { wide: true, title: "When", name: "unix_s", raw: (row) => row.unix_s, cell: (row) => moment(row.unix_s) },
  ];
}
