/** The type of a chart's description and the parts that all charts share. */

import type {
  BarSeriesOption,
  BoxplotSeriesOption,
  CustomSeriesOption,
  LineSeriesOption,
  ScatterSeriesOption,
} from "echarts/charts";
import type {
  DataZoomComponentOption,
  GridComponentOption,
  LegendComponentOption,
  TitleComponentOption,
  TooltipComponentOption,
} from "echarts/components";
import type { ComposeOption } from "echarts/core";
import { axisSeconds, count, moment, seconds } from "../format/number";
import type { XAxis } from "../state/view";
import type { ChartColors } from "../theme/palette";

export type ChartSeries =
  BarSeriesOption | BoxplotSeriesOption | CustomSeriesOption | LineSeriesOption | ScatterSeriesOption;

export type ChartOption = ComposeOption<
  | ChartSeries
  | DataZoomComponentOption
  | GridComponentOption
  | LegendComponentOption
  | TitleComponentOption
  | TooltipComponentOption
> & { grid: GridComponentOption & { top: number } };

/** As in the page's style: canvas does not inherit it. ECharts writes it into an attribute of an SVG as it is. */
const FONT = "Roboto, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, system-ui, sans-serif";

export function baseOption(colors: ChartColors) {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: FONT, fontSize: 12, color: colors.muted },
  } as const;
}

export function axisLook(colors: ChartColors) {
  return {
    axisLine: { show: true, onZero: false, lineStyle: { color: colors.line } },
    axisTick: { show: false },
    axisLabel: { color: colors.muted, fontSize: 12, hideOverlap: true },
    nameTextStyle: { color: colors.muted, fontSize: 12 },
    splitLine: { show: true, lineStyle: { color: colors.grid } },
    minorTick: { show: false },
  } as const;
}

const X_TITLES: Readonly<Record<XAxis, string>> = {
  step: "step",
  relative: "time since the start",
  wall: "time of day",
};

/** A position on the x axis in words. */
export function xText(x: XAxis, value: number): string {
  if (x === "step") return `step ${count(Math.round(value))}`;
  return x === "wall" ? moment(value / 1000) : `${seconds(value)} after the start`;
}

export function xAxisOption(x: XAxis, range: readonly [number, number], colors: ChartColors) {
  const look = axisLook(colors);
  return {
    ...look,
    type: x === "wall" ? ("time" as const) : ("value" as const),
    name: X_TITLES[x],
    nameLocation: "middle" as const,
    nameGap: 24,
    min: range[0],
    max: range[1],
    minInterval: x === "step" ? 1 : 0,
    splitNumber: 6,
    splitLine: { show: false },
    axisLabel: {
      ...look.axisLabel,
      showMinLabel: false,
      showMaxLabel: false,
      ...(x === "wall" ? {} : { formatter: (value: number) => (x === "step" ? count(value) : axisSeconds(value)) }),
    },
  };
}

/** A y axis in seconds. `max` undefined: as high as the data. */
export function secondsAxisOption(log: boolean, max: number | undefined, colors: ChartColors) {
  const look = axisLook(colors);
  return {
    ...look,
    type: log ? ("log" as const) : ("value" as const),
    ...(log ? {} : { min: 0 }),
    ...(max === undefined ? {} : { max }),
    splitNumber: 4,
    axisLabel: { ...look.axisLabel, formatter: axisSeconds, showMaxLabel: max === undefined || !log },
  };
}

export function tooltipOption(colors: ChartColors) {
  return {
    confine: true,
    backgroundColor: colors.surface,
    borderColor: colors.line,
    borderWidth: 1,
    padding: 8,
    transitionDuration: 0,
    textStyle: { color: colors.text, fontSize: 12, fontFamily: FONT },
  } as const;
}

/** A tooltip for the place on the x axis that the pointer is at. */
export function axisTooltipOption(colors: ChartColors) {
  return {
    ...tooltipOption(colors),
    trigger: "axis",
    axisPointer: { type: "line", lineStyle: { color: colors.muted } },
  } as const;
}

/** The slider below the chart. Wheel and drag are our own (`roam`, `drag-zoom`): ECharts' take every turn of the wheel. */
export function zoomOption(window: readonly [number, number], colors: ChartColors): DataZoomComponentOption[] {
  return [
    {
      type: "slider",
      xAxisIndex: 0,
      startValue: window[0],
      endValue: window[1],
      // Keep what lies outside, so that lines run on to the edge.
      filterMode: "none",
      height: 18,
      bottom: 4,
      showDetail: false,
      brushSelect: false,
      borderColor: colors.grid,
      fillerColor: "rgba(232, 113, 10, 0.14)",
      handleStyle: { color: colors.surface, borderColor: colors.muted },
      moveHandleSize: 0,
      dataBackground: { lineStyle: { color: colors.line }, areaStyle: { color: colors.grid } },
      selectedDataBackground: { lineStyle: { color: colors.muted }, areaStyle: { color: colors.line } },
    },
  ];
}
