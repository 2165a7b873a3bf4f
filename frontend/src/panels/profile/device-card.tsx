/** The device from its first to its last work: computing, communicating, copying, idle. */

import { useMemo } from "preact/hooks";
import type { DeviceTimes, ProfileAnswer } from "../../api/profile-types";
import { Chart } from "../../charts/chart";
import { microseconds, share } from "../../format/number";
import { theme } from "../../host/theme";
import { definedTerms, definition } from "../../state/definitions";
import type { ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { deviceBars, deviceOption, describeBar } from "./device-chart";

interface Row {
  key: keyof DeviceTimes;
  title: string;
  time: number;
  share: number | null;
}

/** In the order of the table; what is indented there is a part of the row above. */
const ROWS: readonly { key: keyof DeviceTimes; title: string }[] = [
  { key: "total", title: "Total" },
  { key: "busy", title: "Busy" },
  { key: "compute", title: "Compute" },
  { key: "communication", title: "Communication" },
  { key: "communication_exposed", title: "Communication, exposed" },
  { key: "memcpy", title: "Copies" },
  { key: "memcpy_exposed", title: "Copies, exposed" },
  { key: "idle", title: "Idle" },
];

/** Exposed copies below this share are not worth a word. */
const SMALLEST_SAID = 0.005;

function deviceFinding(times: DeviceTimes): string {
  if (times.total <= 0) return "The device did no work that took time";
  const of = (value: number): string => share(value / times.total);
  const parts = [`computes ${of(times.compute)}`];
  const spent: string[] = [];
  if (times.communication > 0) spent.push(`${of(times.communication_exposed)} on exposed communication`);
  if (times.memcpy_exposed / times.total >= SMALLEST_SAID) spent.push(`${of(times.memcpy_exposed)} on exposed copies`);
  if (spent.length > 0) parts.push(`spends ${spent.join(" and ")}`);
  return `The device ${parts.join(", ")}${parts.length > 1 ? "," : ""} and idles ${of(times.idle)} of ${microseconds(times.total)}`;
}

export function DeviceCard({ answer, colors }: { answer: ProfileAnswer; colors: ChartColors }) {
  const times = answer.profile.device_timeline_us;
  const bars = useMemo(() => (times ? deviceBars(times, theme.value, colors) : []), [times, theme.value, colors]);
  const option = useMemo(() => deviceOption(bars, times?.total ?? 0, colors), [bars, times, colors]);
  if (!times) return null;
  const rows = ROWS.map(({ key, title }): Row => ({
    key,
    title,
    time: times[key],
    share: times.total > 0 ? times[key] / times.total : null,
  }));
  const lines = [...new Set(bars.map((bar) => bar.line))];
  return (
    <Card
      kind="Device timeline"
      finding={deviceFinding(times)}
      scope={`${answer.profile.device}, from its first to its last work`}
      hasChart
      csv={() => tableCsv(COLUMNS, rows)}
      table={() => (
        <DataTable caption="Time of the device" columns={COLUMNS} rows={rows} rowKey={(row) => row.key} full />
      )}
      definitions={definedTerms(ROWS.map(({ key, title }) => [title, `profile.device.${key}`] as const))}
    >
      <Chart
        name="device"
        label={`${deviceFinding(times)}.`}
        height={36 + 34 * lines.length}
        option={option}
        cursor={{
          items: bars.map((bar, index) => ({ seriesIndex: index, dataIndex: lines.indexOf(bar.line) })),
          describe: (index) => {
            const bar = bars[index];
            return bar ? describeBar(bar, times.total) : "";
          },
        }}
      />
      <dl class="figures figures-small">
        {rows
          .filter((row) => row.key !== "busy" && (row.time > 0 || row.key === "idle"))
          .map((row) => (
            <div key={row.key} title={definition(`profile.device.${row.key}`) ?? undefined}>
              <dt>{row.title}</dt>
              <dd>
                {microseconds(row.time)} <span class="amount">{row.key === "total" ? "" : share(row.share)}</span>
              </dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Part", name: "part", raw: (row) => row.key, cell: (row) => row.title },
  { title: "Time", name: "time_us", raw: (row) => row.time, cell: (row) => microseconds(row.time), numeric: true },
  {
    title: "Share of the total",
    name: "share",
    raw: (row) => row.share,
    cell: (row) => share(row.share),
    numeric: true,
  },
];
