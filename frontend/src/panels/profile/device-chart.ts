/** The device's time as bars: the whole, then how much of communication and copies hides behind other work. */

import type { DeviceTimes } from "../../api/profile-types";
import { type ChartOption, axisLook, baseOption, tooltipOption } from "../../charts/option";
import { tooltip } from "../../charts/tooltip";
import { axisSeconds, microseconds, share } from "../../format/number";
import type { ThemeName } from "../../host/theme";
import { inkOn } from "../../theme/contrast";
import { type ChartColors, partColor } from "../../theme/palette";

export interface DeviceBar {
  line: string;
  title: string;
  time: number;
  color: string;
  /** Hidden time is pale. */
  pale: boolean;
}

const DEVICE = "Device";
/** Appended to a colour: its opacity. */
const PALE = "66";
/** Below this a label does not fit into its part of the bar. */
const LABELLED_SHARE = 0.07;

/** Lines that hold less of the total would only be a speck. */
const SMALLEST_LINE = 0.005;

/** The parts that take time, line by line. */
export function deviceBars(times: DeviceTimes, theme: ThemeName, colors: ChartColors): DeviceBar[] {
  const bar = (line: string, title: string, time: number, color: string, pale = false): DeviceBar => ({
    line,
    title,
    time,
    color,
    pale,
  });
  const communication = partColor("communication", theme);
  const memcpy = partColor("memcpy", theme);
  const bars = [
    bar(DEVICE, "Compute", times.compute, partColor("kernel", theme)),
    bar(DEVICE, "Communication, exposed", times.communication_exposed, communication),
    bar(DEVICE, "Copies, exposed", times.memcpy_exposed, memcpy),
    bar(DEVICE, "Idle", times.idle, colors.grid, true),
    bar("Communication", "Communication, exposed", times.communication_exposed, communication),
    bar(
      "Communication",
      "Communication, hidden",
      times.communication - times.communication_exposed,
      communication,
      true,
    ),
    bar("Copies", "Copies, exposed", times.memcpy_exposed, memcpy),
    bar("Copies", "Copies, hidden", times.memcpy - times.memcpy_exposed, memcpy, true),
  ];
  const seen = (each: DeviceBar): boolean =>
    each.line === DEVICE ||
    (each.line === "Copies" ? times.memcpy : times.communication) >= SMALLEST_LINE * times.total;
  return bars.filter((each) => each.time > 0 && seen(each));
}

export const describeBar = ({ line, title, time }: DeviceBar, total: number): string =>
  `${line === DEVICE ? "" : `${line}: `}${title} ${microseconds(time)}, ${total > 0 ? share(time / total) : ""} of the total`;

export function deviceOption(bars: readonly DeviceBar[], total: number, colors: ChartColors): ChartOption {
  const lines = [...new Set(bars.map((bar) => bar.line))];
  const look = axisLook(colors);
  return {
    ...baseOption(colors),
    grid: { left: 104, right: 16, top: 4, bottom: 26 },
    legend: { show: false, data: [...new Set(bars.map((bar) => bar.title))] },
    xAxis: {
      ...look,
      type: "value",
      min: 0,
      max: total / 1e6,
      axisLabel: { ...look.axisLabel, formatter: axisSeconds, alignMinLabel: "left", showMaxLabel: false },
    },
    yAxis: {
      ...look,
      type: "category",
      inverse: true,
      data: lines,
      splitLine: { show: false },
      axisLabel: { ...look.axisLabel, color: colors.text },
    },
    tooltip: {
      ...tooltipOption(colors),
      trigger: "item",
      formatter: (parameters: unknown) => {
        const bar = bars[seriesOf(parameters) ?? -1];
        if (!bar) return "";
        const part = total > 0 ? share(bar.time / total) : "";
        return tooltip(bar.title, [{ color: bar.color, name: bar.line, value: `${microseconds(bar.time)}  ${part}` }]);
      },
    },
    series: bars.map((bar) => ({
      type: "bar" as const,
      name: bar.title,
      stack: "line",
      barWidth: 22,
      data: lines.map((line) => (line === bar.line ? bar.time / 1e6 : null)),
      itemStyle: { color: bar.pale ? bar.color + PALE : bar.color, borderColor: colors.surface, borderWidth: 0.5 },
      label: {
        show: total > 0 && bar.time / total >= LABELLED_SHARE,
        color: bar.pale ? colors.text : inkOn(bar.color),
        formatter: () => share(bar.time / total),
        fontSize: 12,
        fontWeight: 600,
      },
    })),
  };
}

function seriesOf(parameters: unknown): number | null {
  if (typeof parameters !== "object" || parameters === null || !("seriesIndex" in parameters)) return null;
  return typeof parameters.seriesIndex === "number" ? parameters.seriesIndex : null;
}
