/** Events in words. */

import { nanoseconds, share } from "../../../format/number";
import { compactShapes } from "../../../format/words";
import type { PaintedPart } from "../../../state/definitions";
import { type Timeline, durationOf } from "./model";
import { momentText } from "./ticks";

/** Moments of single events are told to the nanosecond where that still reads well. */
const PRECISION_NS = 1;

export const nameOf = (timeline: Timeline, event: number): string => timeline.names[timeline.name[event] ?? -1] ?? "";

export function shapeOf(timeline: Timeline, event: number): string | null {
  const shapes = timeline.shapes[timeline.shape[event] ?? -1];
  return shapes === undefined ? null : compactShapes(shapes);
}

export const kindOf = (timeline: Timeline, event: number, kinds: readonly PaintedPart[]): PaintedPart | undefined =>
  kinds[timeline.kind[event] ?? -1];

export const laneOf = (timeline: Timeline, event: number): string =>
  timeline.lanes[timeline.lane[event] ?? -1]?.title ?? "";

export const startText = (timeline: Timeline, event: number): string =>
  momentText(timeline.start[event] ?? 0, PRECISION_NS);

/** Of the step; null where the step has no length. */
export function shareOfStep(timeline: Timeline, event: number): number | null {
  return timeline.duration > 0 ? durationOf(timeline, event) / timeline.duration : null;
}

/** An event as a sentence, for those who hear it. */
export function describeEvent(timeline: Timeline, event: number, kinds: readonly PaintedPart[]): string {
  const kind = kindOf(timeline, event, kinds)?.title ?? "Event";
  const part = shareOfStep(timeline, event);
  const ofStep = part === null ? "" : `, ${share(part)} of the step`;
  return `${kind} ${nameOf(timeline, event)}: ${nanoseconds(durationOf(timeline, event))}${ofStep}, at ${startText(timeline, event)} in ${laneOf(timeline, event)}`;
}
