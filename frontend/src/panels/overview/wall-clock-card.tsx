/** The wall-clock of a run: inside steps, and between them by kind. */

import type { OverviewAnswer, SegmentSummary } from "../../api/types";
import { count, seconds, share } from "../../format/number";
import { theme } from "../../host/theme";
import { definition, describeSegment, paintStages } from "../../state/definitions";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { StageStrip } from "../../ui/stage-strip";
import type { Scales } from "./scales";

interface Row {
  key: string;
  title: string;
  meaning: string;
  count: number | null;
  time: number | null;
  part: number | null;
  stages: Record<string, number | null>;
}

function rowsOf({ wall_s: wall, segments, steps, stages }: OverviewAnswer): Row[] {
  const total = wall?.total ?? null;
  const part = (time: number | null): number | null =>
    time === null || total === null || total <= 0 ? null : time / total;
  const inSteps: Row = {
    key: "steps",
    title: "Steps",
    meaning: definition("wall.steps") ?? "",
    count: steps,
    time: wall?.steps ?? null,
    part: part(wall?.steps ?? null),
    stages: Object.fromEntries(stages.map((stage) => [stage.key, stage.total_s])),
  };
  const between = segments.map((segment: SegmentSummary): Row => {
    const { title, meaning } = describeSegment(segment.key);
    const { key, count: occurrences, total_s: time, stages_s } = segment;
    return { key, title, meaning, count: occurrences, time, part: part(time), stages: stages_s };
  });
  return [inSteps, ...between];
}

function wallFinding({ wall_s: wall }: OverviewAnswer): string {
  if (wall?.total == null) return "Wall-clock time was not measured";
  if (wall.segments === null || wall.total <= 0) return `${seconds(wall.total)} in all`;
  return `${seconds(wall.total)} in all, ${share(wall.segments / wall.total)} of it between steps`;
}

export function WallClockCard({ answer, scales }: { answer: OverviewAnswer; scales: Scales }) {
  const rows = rowsOf(answer);
  const keys = answer.stages.map((stage) => stage.key);
  const stages = paintStages([...new Set([...keys, ...rows.flatMap((row) => Object.keys(row.stages))])], theme.value);
  const columns: Column<Row>[] = [
    { title: "Part", name: "part", raw: (row) => row.key, cell: (row) => <span title={row.meaning}>{row.title}</span> },
    {
      title: "Time",
      name: "time_s",
      raw: (row) => row.time,
      cell: (row) => seconds(row.time),
      numeric: true,
      definition: definition("wall.total"),
    },
    { title: "Share", name: "share", raw: (row) => row.part, cell: (row) => share(row.part), numeric: true },
    { title: "Count", name: "count", raw: (row) => row.count, cell: (row) => count(row.count), numeric: true },
    {
      title: "By stage",
      name: "stages",
      raw: (row) =>
        Object.entries(row.stages)
          .map(([key, time]) => `${key}=${time}`)
          .join(" "),
      cell: (row) => <StageStrip stages={stages} times={row.stages} whole={scales.wall} />,
    },
  ];
  return (
    <Card
      kind="Wall-clock"
      finding={wallFinding(answer)}
      level={3}
      csv={() => tableCsv(columns, rows)}
      definitions={[
        { term: "In all", text: definition("wall.total") ?? "" },
        { term: "Between steps", text: definition("wall.segments") ?? "" },
        ...rows.map(({ title, meaning }) => ({ term: title, text: meaning })),
      ]}
    >
      <DataTable caption={`Wall-clock of ${answer.run}`} columns={columns} rows={rows} rowKey={(row) => row.key} />
    </Card>
  );
}
