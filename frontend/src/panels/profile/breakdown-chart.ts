/** A stacked bar per step: its categories, or the device's idle time by cause. */

import type { StepProfile } from "../../api/profile-types";
import { type ChartOption, axisLook, axisTooltipOption, baseOption } from "../../charts/option";
import { hoveredIndex, tooltip } from "../../charts/tooltip";
import { axisSeconds, axisShare, count, microseconds, share } from "../../format/number";
import type { PaintedPart } from "../../state/definitions";
import type { ChartColors } from "../../theme/palette";
import { type Breakdown, timesOf } from "./breakdown-rows";
import { stepName } from "./steps";

interface Settings {
  steps: readonly StepProfile[];
  parts: readonly PaintedPart[];
  what: Breakdown;
  /** Draw shares of the step instead of times. */
  asShares: boolean;
  /** Place of the step that the timeline shows. */
  chosen: number;
  colors: ChartColors;
}

/** Above this many bars, labels and gaps leave no room for "partial". */
const MOST_LABELLED = 24;
const PARTIAL_OPACITY = 0.5;
const WIDEST_BAR_PX = 90;
const LABEL_LINE_PX = 15;

/** Of a part in a step: its time in seconds, or its share of the step. */
function height(step: StepProfile, key: string, { what, asShares }: Settings): number {
  const time = timesOf(step, what)?.[key] ?? 0;
  if (!asShares) return time / 1e6;
  return step.duration_us > 0 ? time / step.duration_us : 0;
}

export function breakdownOption(settings: Settings): ChartOption {
  const { steps, parts, asShares, chosen, colors } = settings;
  const look = axisLook(colors);
  const present = parts.filter((part) => steps.some((step) => (timesOf(step, settings.what)?.[part.key] ?? 0) > 0));
  const label = (place: number): string => {
    const step = steps[place];
    if (!step) return "";
    const number = step.step === null ? "whole trace" : count(step.step);
    const note = step.partial && steps.length <= MOST_LABELLED ? "\npartial" : "";
    return place === chosen ? `{chosen|${number}}${note}` : `${number}${note}`;
  };
  return {
    ...baseOption(colors),
    grid: { left: 64, right: 16, top: 12, bottom: 54 },
    legend: { show: false, data: present.map((part) => ({ name: part.title, icon: "rect" })) },
    xAxis: {
      ...look,
      type: "category",
      data: steps.map((_, place) => String(place)),
      name: steps[0]?.step == null ? "" : "step",
      nameLocation: "middle",
      nameGap: 38,
      splitLine: { show: false },
      axisLabel: {
        ...look.axisLabel,
        lineHeight: LABEL_LINE_PX,
        formatter: (value: string) => label(Number(value)),
        rich: { chosen: { color: colors.accent, fontWeight: 700, fontSize: 12, lineHeight: LABEL_LINE_PX } },
      },
    },
    yAxis: {
      ...look,
      type: "value",
      min: 0,
      ...(asShares && settings.what === "categories" ? { max: 1 } : {}),
      splitNumber: 4,
      axisLabel: { ...look.axisLabel, formatter: asShares ? axisShare : axisSeconds },
    },
    tooltip: {
      ...axisTooltipOption(colors),
      axisPointer: { type: "shadow" },
      formatter: (parameters: unknown) => {
        const step = steps[hoveredIndex(parameters) ?? -1];
        return step ? stepTooltip(step, present, settings.what) : "";
      },
    },
    series: present.map((part) => ({
      type: "bar" as const,
      name: part.title,
      stack: "step",
      barMaxWidth: WIDEST_BAR_PX,
      barCategoryGap: "22%",
      itemStyle: { color: part.paint },
      data: steps.map((step) => ({
        value: height(step, part.key, settings),
        itemStyle: { opacity: step.partial ? PARTIAL_OPACITY : 1 },
      })),
    })),
  };
}

/** The parts of a step that took time, as a sentence. */
export function describeStep(step: StepProfile, parts: readonly PaintedPart[], what: Breakdown): string {
  const times = timesOf(step, what);
  const named = parts.flatMap((part) => {
    const time = times?.[part.key] ?? 0;
    return time > 0 ? [`${part.title} ${microseconds(time)}`] : [];
  });
  const partial = step.partial ? " (partial)" : "";
  return `${stepName(step)}${partial}: ${microseconds(step.duration_us)}. ${named.join(", ")}`;
}

function stepTooltip(step: StepProfile, parts: readonly PaintedPart[], what: Breakdown): HTMLElement {
  const times = timesOf(step, what);
  const rows = parts.flatMap((part) => {
    const time = times?.[part.key] ?? 0;
    if (time <= 0) return [];
    return [{ color: part.paint, name: part.title, value: `${microseconds(time)}  ${share(time / step.duration_us)}` }];
  });
  const note = `step time ${microseconds(step.duration_us)}${step.partial ? " · partial" : ""}`;
  return tooltip(stepName(step), rows, times === null ? `${note} · no device work` : note);
}
