/** Memory over time, and what holds it at the peak. */

import { useMemo, useState } from "preact/hooks";
import type { DeviceMemory, ProfileAnswer } from "../../api/profile-types";
import { Chart } from "../../charts/chart";
import { bytes, microseconds, share } from "../../format/number";
import { theme } from "../../host/theme";
import { definedTerms } from "../../state/definitions";
import { type ChartColors, partColor } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { memoryOption } from "./memory-chart";

interface Moment {
  time: number;
  allocated: number;
  reserved: number | null;
}

type Holder = DeviceMemory["holders"][number];

/** A device of its own says more than the host's memory. */
const firstShown = (devices: readonly DeviceMemory[]): DeviceMemory | undefined =>
  devices.find(({ device }) => device !== "cpu") ?? devices[0];

function memoryFinding(memory: DeviceMemory): string {
  const reserved = memory.peak_reserved_bytes === null ? "" : `, of ${bytes(memory.peak_reserved_bytes)} reserved`;
  const base = memory.relative ? " above the start of the trace" : "";
  return `${memory.device} peaks at ${bytes(memory.peak_allocated_bytes)} allocated${base}${reserved}, after ${microseconds(memory.peak_us)}`;
}

const MOMENT_COLUMNS: readonly Column<Moment>[] = [
  { title: "Time", name: "time_us", raw: (row) => row.time, cell: (row) => microseconds(row.time), numeric: true },
  {
    title: "Allocated",
    name: "allocated_bytes",
    raw: (row) => row.allocated,
    cell: (row) => bytes(row.allocated),
    numeric: true,
  },
  {
    title: "Reserved",
    name: "reserved_bytes",
    raw: (row) => row.reserved,
    cell: (row) => bytes(row.reserved),
    numeric: true,
  },
];

export function MemoryCard({ answer, colors }: { answer: ProfileAnswer; colors: ChartColors }) {
  const [wanted, setWanted] = useState("");
  const devices = answer.profile.memory?.devices ?? [];
  const memory = devices.find(({ device }) => device === wanted) ?? firstShown(devices);
  const { steps } = answer.profile;
  const paint = useMemo(
    () => ({ allocated: partColor("cpu_op", theme.value), reserved: partColor("data_loading", theme.value) }),
    [theme.value],
  );
  const option = useMemo(
    () => (memory && memory.time_us.length > 0 ? memoryOption(memory, steps, paint, colors) : null),
    [memory, steps, paint, colors],
  );
  if (!memory) {
    return (
      <Card kind="Memory" finding="Memory was not recorded">
        <p class="state">
          The profiler records it with <code>profile_memory=True</code>.
        </p>
      </Card>
    );
  }
  const moments = memory.time_us.map((time, index): Moment => ({
    time,
    allocated: memory.allocated_bytes[index] ?? 0,
    reserved: memory.reserved_bytes?.[index] ?? null,
  }));
  return (
    <Card
      kind="Memory"
      finding={memoryFinding(memory)}
      {...(memory.relative ? { scope: "No totals were recorded: bytes count from the start of the trace" } : {})}
      hasChart
      csv={() => tableCsv(MOMENT_COLUMNS, moments)}
      table={() => (
        <>
          <DataTable
            caption={`Memory of ${memory.device} over time`}
            columns={MOMENT_COLUMNS}
            rows={moments}
            rowKey={(_, index) => String(index)}
            full
          />
          <Holders memory={memory} />
        </>
      )}
      definitions={definedTerms([
        ["Allocated", "profile.memory.allocated"],
        ["Reserved", "profile.memory.reserved"],
        ["Peak", "profile.memory.peak"],
        ["Held at the peak", "profile.memory.holders"],
      ])}
    >
      {devices.length > 1 && (
        <label class="inline-field">
          Memory of
          <select value={memory.device} onChange={(event) => setWanted(event.currentTarget.value)}>
            {devices.map(({ device }) => (
              <option key={device} value={device}>
                {device}
              </option>
            ))}
          </select>
        </label>
      )}
      {option && (
        <Chart
          name={memory.device}
          label={`Memory of ${memory.device} over the trace. ${memoryFinding(memory)}.`}
          height={250}
          option={option}
          cursor={{
            items: moments.map(({ time }) => ({ axis: "x", at: time / 1e6 })),
            describe: (index) => {
              const moment = moments[index];
              if (!moment) return "";
              const reserved = moment.reserved === null ? "" : `, reserved ${bytes(moment.reserved)}`;
              return `${microseconds(moment.time)}: allocated ${bytes(moment.allocated)}${reserved}`;
            },
          }}
        />
      )}
      <p class="chart-note">
        Line: allocated.{memory.reserved_bytes && " Dashed: reserved by the allocator."} Diamond: the peak.
        {steps.some((step) => step.step !== null) && " Dotted upright lines: where steps begin."}
      </p>
      <Holders memory={memory} />
    </Card>
  );
}

function Holders({ memory }: { memory: DeviceMemory }) {
  if (memory.holders.length === 0) {
    return <p class="chart-note">Nothing that lives at the peak was allocated within the trace.</p>;
  }
  return (
    <DataTable
      caption={`What holds memory of ${memory.device} at the peak`}
      columns={holderColumns(memory)}
      rows={memory.holders}
      rowKey={(_, index) => String(index)}
    />
  );
}

function holderColumns(memory: DeviceMemory): Column<Holder>[] {
  const part = (row: Holder): number | null =>
    memory.peak_allocated_bytes > 0 ? row.bytes / memory.peak_allocated_bytes : null;
  return [
    {
      title: "Held at the peak by",
      name: "operator",
      raw: (row) => row.operator,
      cell: (row) => row.operator ?? <span class="missing">no operator</span>,
    },
    { title: "Memory", name: "bytes", raw: (row) => row.bytes, cell: (row) => bytes(row.bytes), numeric: true },
    { title: "Share of the peak", name: "share", raw: part, cell: (row) => share(part(row)), numeric: true },
  ];
}
