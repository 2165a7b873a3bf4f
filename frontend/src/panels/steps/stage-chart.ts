/** One run's stages over its steps: a stack, or lines on a logarithmic axis. */

import {
  type ChartOption,
  type ChartSeries,
  baseOption,
  secondsAxisOption,
  axisTooltipOption,
  xAxisOption,
  xText,
  zoomOption,
} from "../../charts/option";
import { hoveredX, tooltip } from "../../charts/tooltip";
import { count, seconds, share } from "../../format/number";
import type { PaintedStage } from "../../state/definitions";
import type { XAxis } from "../../state/view";
import type { ChartColors } from "../../theme/palette";
import { type PlacedBin, linePoints, nearestBin } from "./bins";
import { profiledText } from "./profiled";
import { MARKS, markSeries, topWithMarks } from "./profiled-marks";
import type { RunSteps } from "./run-steps";
import { stackSeries } from "./stack-series";

/** Rows of a tooltip; the rest is summed, lest it hide the chart. */
const TOOLTIP_STAGES = 8;

interface Settings {
  run: RunSteps;
  hidden: readonly string[];
  x: XAxis;
  log: boolean;
  top: number | undefined;
  colors: ChartColors;
}

/** The stages that took any time and are switched on. */
export function visibleStages(run: RunSteps, hidden: readonly string[]): PaintedStage[] {
  return run.stages.filter((stage) => !hidden.includes(stage.key) && run.bins.some((bin) => stage.key in bin.stages));
}

/** A line per stage, for the logarithmic axis, which has no place for zero nor for a stack. */
function stageLine(stage: PaintedStage, run: RunSteps): ChartSeries {
  const data = linePoints(run.bins, (bin) => bin.stages[stage.key] || null);
  // A stage of few bins has no neighbours to be joined to by a line.
  const sparse = data.filter(([, value]) => value !== null).length < data.length / 2;
  return {
    type: "line",
    name: stage.title,
    data,
    symbol: sparse ? "circle" : "none",
    symbolSize: 5,
    color: stage.paint,
    lineStyle: { color: stage.paint, width: 1.4 },
    silent: true,
  };
}

/** What carries the cursor, the tooltip and the slider's outline while the stack is drawn by `stackSeries`. */
function guideSeries(run: RunSteps): ChartSeries {
  return {
    type: "line",
    data: run.bins.map((bin) => [bin.x, bin.mean]),
    symbol: "none",
    lineStyle: { opacity: 0 },
    silent: true,
  };
}

export function stageOption({ run, hidden, x, log, top, colors }: Settings): ChartOption {
  const stages = visibleStages(run, hidden);
  const marked = run.profiled.length > 0;
  const first = run.bins.find((bin) => bin.mean !== null);
  const marks = markSeries({
    rows: marked ? [{ windows: run.profiled, color: colors.text }] : [],
    anchor: [first?.x ?? 0, first?.mean ?? 1],
    over: true,
    color: colors.text,
  });
  const named = [...stages.map((stage) => stage.title), ...(marked ? [MARKS] : [])];
  return {
    ...baseOption(colors),
    grid: { left: 64, right: 16, top: topWithMarks(1), bottom: 62 },
    legend: { show: false, data: named.map((name) => ({ name, icon: "rect" })) },
    xAxis: xAxisOption(x, run.extent, colors),
    yAxis: secondsAxisOption(log, top, colors),
    dataZoom: zoomOption(run.window, colors),
    tooltip: {
      ...axisTooltipOption(colors),
      formatter: (parameters: unknown) => {
        const at = hoveredX(parameters);
        const bin = at === null ? null : nearestBin(run.shown, at);
        return bin ? stageTooltip(stages, bin, x, profiledText(run.profiled, bin)) : "";
      },
    },
    series: [
      ...(log
        ? stages.map((stage) => stageLine(stage, run))
        : [guideSeries(run), ...stackSeries(run.bins, run.shown.length, stages, colors)]),
      ...marks,
    ],
  };
}

/** "step 17" or "steps 0–2,499 (2,500 steps)", with the time where that is the axis. */
export function binTitle(bin: PlacedBin, x: XAxis): string {
  const steps =
    bin.stepFirst === bin.stepLast
      ? `step ${count(bin.stepFirst)}`
      : `steps ${count(bin.stepFirst)}–${count(bin.stepLast)} (mean of ${count(bin.count)})`;
  return x === "step" ? steps : `${steps}, ${xText(x, bin.x)}`;
}

/** The stages of a bin that took time, longest first. */
export function stagesByTime(stages: readonly PaintedStage[], bin: PlacedBin): [PaintedStage, number][] {
  return stages
    .map((stage): [PaintedStage, number] => [stage, bin.stages[stage.key] ?? 0])
    .filter(([, time]) => time > 0)
    .sort((a, b) => b[1] - a[1]);
}

function stageTooltip(stages: readonly PaintedStage[], bin: PlacedBin, x: XAxis, profiled: string): HTMLElement {
  const ordered = stagesByTime(stages, bin);
  const whole = bin.mean ?? 0;
  const text = (time: number): string => (whole > 0 ? `${seconds(time)}  ${share(time / whole)}` : seconds(time));
  const rows = ordered
    .slice(0, TOOLTIP_STAGES)
    .map(([stage, time]) => ({ color: stage.paint, name: stage.title, value: text(time) }));
  const rest = ordered.slice(TOOLTIP_STAGES);
  const restTime = rest.reduce((sum, [, time]) => sum + time, 0);
  const notes = [`step time ${seconds(bin.mean)}`];
  if (rest.length > 0) notes.unshift(`${rest.length} more: ${seconds(restTime)}`);
  if (profiled !== "") notes.push(profiled);
  return tooltip(binTitle(bin, x), rows, notes.join(" · "));
}
