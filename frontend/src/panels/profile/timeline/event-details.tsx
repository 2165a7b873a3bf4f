/** Everything that is known of the selected event, with ways to what it belongs to. */

import type { ComponentChildren } from "preact";
import { nanoseconds, plural, share } from "../../../format/number";
import type { PaintedPart } from "../../../state/definitions";
import { Swatch } from "../../../ui/swatch";
import { kindOf, laneOf, nameOf, shapeOf, shareOfStep, startText } from "./event-text";
import { type Timeline, durationOf, parentOf, worksOf } from "./model";
import type { TimelineState } from "./state";

/** Launched work listed by name; graphs launch thousands. */
const MOST_LISTED = 5;

export function EventDetails({ state, kinds }: { state: TimelineState; kinds: readonly PaintedPart[] }) {
  const { timeline } = state;
  const event = state.selected.value;
  if (event === null) {
    return <p class="event-details chart-note">Click an event, or reach it with the arrow keys, to see what it is.</p>;
  }
  const kind = kindOf(timeline, event, kinds);
  const launch = timeline.launch[event] ?? -1;
  const works = worksOf(timeline, event);
  const parent = parentOf(timeline, event);
  const onDevice = timeline.lanes[timeline.lane[event] ?? -1]?.kind === "device";
  const jump = (to: number, text: string) => (
    <button type="button" class="link" onClick={() => state.jump(to)}>
      {text}
    </button>
  );
  return (
    <section class="event-details" aria-label="Selected event">
      <p class="event-name">{nameOf(timeline, event)}</p>
      <div class="event-actions">
        <button type="button" class="button button-small" onClick={() => state.zoomTo(event)}>
          Zoom to it
        </button>
        <button type="button" class="button button-small" onClick={() => state.select(null)}>
          Unselect
        </button>
      </div>
      <dl class="event-facts">
        <Fact term="Kind">
          <span title={kind?.meaning}>
            <Swatch color={kind?.paint ?? "transparent"} /> {kind?.title ?? "unknown"}
          </span>
        </Fact>
        <Fact term="Duration">{nanoseconds(durationOf(timeline, event))}</Fact>
        <Fact term="Share of the step">{share(shareOfStep(timeline, event))}</Fact>
        <Fact term="Start in the step">{startText(timeline, event)}</Fact>
        <Fact term="Lane">{laneOf(timeline, event)}</Fact>
        <Fact term="Input shapes">{shapeOf(timeline, event) ?? <span class="missing">not recorded</span>}</Fact>
        {!onDevice && parent >= 0 && <Fact term="Inside">{jump(parent, nameOf(timeline, parent))}</Fact>}
        {onDevice && (
          <Fact term="Launched by">
            {launch >= 0 ? (
              <>
                {jump(launch, nameOf(timeline, launch))} {delayText(timeline, launch, event)}
              </>
            ) : (
              <span class="missing">not among the events of this step</span>
            )}
          </Fact>
        )}
        {works.length > 0 && (
          <Fact term="Launches">
            {works.slice(0, MOST_LISTED).map((work) => (
              <div key={work}>
                {jump(work, nameOf(timeline, work))} {delayText(timeline, event, work)}
              </div>
            ))}
            {works.length > MOST_LISTED && (
              <div>and {plural(works.length - MOST_LISTED, "more piece", "more pieces")}</div>
            )}
          </Fact>
        )}
      </dl>
    </section>
  );
}

/** From the start of the call to the start of the work. */
function delayText(timeline: Timeline, call: number, work: number): string {
  const delay = (timeline.start[work] ?? 0) - (timeline.start[call] ?? 0);
  return delay >= 0 ? `(starts ${nanoseconds(delay)} after the call)` : "";
}

function Fact({ term, children }: { term: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
