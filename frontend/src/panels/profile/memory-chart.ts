/** Memory of a device over the trace, with the steps and the peak marked. */

import type { CustomSeriesOption } from "echarts/charts";
import type { DeviceMemory, StepProfile } from "../../api/profile-types";
import { type ChartOption, axisLook, axisTooltipOption, baseOption } from "../../charts/option";
import { hoveredX, tooltip } from "../../charts/tooltip";
import { axisSeconds, bytes, count, seconds } from "../../format/number";
import type { ChartColors } from "../../theme/palette";

interface Unit {
  name: string;
  bytes: number;
}

const UNITS: readonly Unit[] = ["B", "KiB", "MiB", "GiB", "TiB"].map((name, power) => ({ name, bytes: 1024 ** power }));

/** The largest unit of which `most` holds at least one, so that the axis has round numbers. */
export function unitFor(most: number): Unit {
  return [...UNITS].reverse().find((unit) => Math.abs(most) >= unit.bytes) ?? { name: "B", bytes: 1 };
}

/** Index of the last moment at or before `time`; -1 before the first. */
export function momentBefore(times: readonly number[], time: number): number {
  let [low, high] = [-1, times.length];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= time) low = middle;
    else high = middle;
  }
  return low;
}

/** Marked steps further apart than this share of the axis have room for their numbers. */
const LABEL_ROOM = 0.04;

export function memoryOption(
  memory: DeviceMemory,
  steps: readonly StepProfile[],
  paint: { allocated: string; reserved: string },
  colors: ChartColors,
): ChartOption {
  const look = axisLook(colors);
  const marked = steps.filter((step) => step.step !== null);
  const ends = [...memory.time_us, ...marked.flatMap((step) => [step.start_us, step.start_us + step.duration_us])].map(
    (time) => time / 1e6,
  );
  const range: [number, number] = [Math.min(0, ...ends), Math.max(...ends, 1e-6)];
  const lowest = Math.min(0, ...memory.allocated_bytes);
  const highest = Math.max(memory.peak_allocated_bytes, ...memory.allocated_bytes, ...(memory.reserved_bytes ?? []));
  const unit = unitFor(Math.max(highest, -lowest));
  const points = (values: readonly number[]) =>
    memory.time_us.map((time, index) => [time / 1e6, (values[index] ?? 0) / unit.bytes]);
  const line = { type: "line", symbol: "none", silent: true, step: "end" } as const;
  return {
    ...baseOption(colors),
    grid: { left: 72, right: 24, top: 24, bottom: 44 },
    legend: { show: false, data: ["allocated", ...(memory.reserved_bytes ? ["reserved"] : []), "peak"] },
    xAxis: {
      ...look,
      type: "value",
      min: range[0],
      max: range[1],
      name: "time since the start of the trace",
      nameLocation: "middle",
      nameGap: 24,
      splitLine: { show: false },
      axisLabel: { ...look.axisLabel, formatter: axisSeconds, showMaxLabel: false },
    },
    yAxis: {
      ...look,
      type: "value",
      ...(lowest < 0 ? {} : { min: 0 }),
      splitNumber: 4,
      axisLabel: { ...look.axisLabel, formatter: (value: number) => `${Number(value.toPrecision(6))} ${unit.name}` },
    },
    tooltip: {
      ...axisTooltipOption(colors),
      formatter: (parameters: unknown) => {
        const at = hoveredX(parameters);
        const index = at === null ? -1 : momentBefore(memory.time_us, at * 1e6);
        if (index < 0) return "";
        const rows = [{ color: paint.allocated, name: "allocated", value: bytes(memory.allocated_bytes[index]) }];
        if (memory.reserved_bytes) {
          rows.push({ color: paint.reserved, name: "reserved", value: bytes(memory.reserved_bytes[index]) });
        }
        return tooltip(seconds((memory.time_us[index] ?? 0) / 1e6), rows);
      },
    },
    series: [
      {
        ...line,
        name: "allocated",
        data: points(memory.allocated_bytes),
        color: paint.allocated,
        lineStyle: { width: 1.6 },
        areaStyle: {
          color: paint.allocated,
          opacity: 0.15,
          origin: lowest < 0 ? ("auto" as const) : ("start" as const),
        },
      },
      ...(memory.reserved_bytes
        ? [
            {
              ...line,
              name: "reserved",
              data: points(memory.reserved_bytes),
              color: paint.reserved,
              lineStyle: { width: 1.4, type: "dashed" as const },
            },
          ]
        : []),
      stepMarks(marked, range, colors),
      {
        type: "scatter",
        name: "peak",
        symbol: "diamond",
        symbolSize: 10,
        silent: true,
        z: 5,
        itemStyle: { color: colors.accent },
        data: [[memory.peak_us / 1e6, memory.peak_allocated_bytes / unit.bytes]],
        label: {
          show: true,
          position: "top",
          color: colors.text,
          fontSize: 12,
          formatter: () => `peak ${bytes(memory.peak_allocated_bytes)}`,
        },
      },
    ],
  };
}

/** An upright line where each step begins, and where the last ends. */
function stepMarks(steps: readonly StepProfile[], range: [number, number], colors: ChartColors): CustomSeriesOption {
  const last = steps[steps.length - 1];
  const marks = steps.map((step) => ({ at: step.start_us / 1e6, text: count(step.step) }));
  if (last) marks.push({ at: (last.start_us + last.duration_us) / 1e6, text: "" });
  const room = LABEL_ROOM * (range[1] - range[0]);
  let labelled = -Infinity;
  const texts = marks.map(({ at, text }) => {
    if (at - labelled < room) return "";
    labelled = at;
    return text;
  });
  return {
    type: "custom",
    silent: true,
    z: 1,
    data: marks.map(({ at }) => [at, 0]),
    renderItem: (params, api) => {
      const area = params.coordSys as unknown as { x: number; y: number; width: number; height: number };
      const [x = 0] = api.coord([api.value(0), 0]);
      const text = texts[params.dataIndex] ?? "";
      return {
        type: "group",
        children: [
          {
            type: "line",
            shape: { x1: x, y1: area.y, x2: x, y2: area.y + area.height },
            style: { stroke: colors.muted, lineWidth: 1, lineDash: [2, 3] },
          },
          {
            type: "text",
            style: {
              text: text === "" ? "" : `step ${text}`,
              x: x + 3,
              y: area.y - 14,
              fill: colors.muted,
              fontSize: 11,
            },
          },
        ],
      };
    },
  };
}
