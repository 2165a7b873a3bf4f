/** Names and wording, all from the server: a number is defined where it is computed. */

import type { PartInfo } from "../api/profile-types";
import type { SegmentInfo, StageInfo } from "../api/types";
import { wordsOf } from "../format/words";
import type { ThemeName } from "../host/theme";
import { partColor, stageColor } from "../theme/palette";
import { catalogue } from "./store";

/** The definition of a statistic, such as "step_time.p95"; null when the server has none. */
export function definition(key: string): string | null {
  return catalogue.value?.definitions?.[key] ?? null;
}

/** Terms with the server's definitions, by the definitions' keys; those that the server does not have are left out. */
export function definedTerms(
  keys: readonly (readonly [term: string, key: string])[],
): { term: string; text: string }[] {
  return keys.flatMap(([term, key]) => {
    const text = definition(key);
    return text === null ? [] : [{ term, text }];
  });
}

/** What is known about each stage of `keys`, in their order. A stage that a program named has no entry of its own. */
export function describeStages(keys: readonly string[]): StageInfo[] {
  const known = new Map((catalogue.value?.stages ?? []).map((stage) => [stage.key, stage]));
  let named = 0;
  return keys.map(
    (key) =>
      known.get(key) ?? {
        key,
        title: known.size > 0 ? key : wordsOf(key),
        // The same rule as on the server: the eight colours in order of appearance, then again.
        color: `user_${named++ % 8}`,
        meaning: `Stage "${key}", named by the program.`,
      },
  );
}

export function describeSegment(key: string): SegmentInfo {
  const known = catalogue.value?.segments.find((segment) => segment.key === key);
  return known ?? { key, title: wordsOf(key), meaning: "" };
}

export interface PaintedStage extends StageInfo {
  /** The resolved colour in the theme at hand. */
  paint: string;
}

export function paintStages(keys: readonly string[], theme: ThemeName): PaintedStage[] {
  return describeStages(keys).map((stage) => ({ ...stage, paint: stageColor(stage.color, theme) }));
}

export interface PaintedPart extends PartInfo {
  /** The resolved colour in the theme at hand. */
  paint: string;
}

/** The server's categories, idle causes or kinds of events, in its order. */
export function paintParts(list: "categories" | "idle_causes" | "event_kinds", theme: ThemeName): PaintedPart[] {
  return (catalogue.value?.[list] ?? []).map((part) => ({ ...part, paint: partColor(part.color, theme) }));
}

const LOOP_TITLES: Readonly<Record<string, string>> = {
  train: "Training",
  validate: "Validation",
  test: "Test",
  predict: "Prediction",
  pipeline: "Pipeline",
};

export const loopTitle = (loop: string): string => LOOP_TITLES[loop] ?? wordsOf(loop);
