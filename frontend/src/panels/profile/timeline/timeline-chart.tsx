/** The timeline in the page: tools, lanes, and what the keys do. */

import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { ShelfContext } from "../../../charts/shelf";
import { tooltip } from "../../../charts/tooltip";
import { count, nanoseconds, plural, share } from "../../../format/number";
import type { PaintedPart } from "../../../state/definitions";
import type { ChartColors } from "../../../theme/palette";
import { Icon } from "../../../ui/icons";
import { Swatch } from "../../../ui/swatch";
import { describeEvent, kindOf, nameOf, shapeOf, shareOfStep, startText } from "./event-text";
import { EventDetails } from "./event-details";
import { timelineImage } from "./image";
import { layoutLanes } from "./layout";
import { durationOf } from "./model";
import type { TimelineState } from "./state";
import { type Hover, TimelineView } from "./timeline-view";

/** The lanes' sight at first; its lower edge can be drawn. */
const HEIGHT = 480;
/** A tenth of the window for a key, half with Shift. */
const PAN_PART = 0.15;
const FAST_PAN_PART = 0.6;
const KEY_ZOOM = 0.6;

interface Props {
  state: TimelineState;
  /** Part of the file name and of the exported image's title. */
  name: string;
  label: string;
  kinds: readonly PaintedPart[];
  colors: ChartColors;
  /** Goes to another step. */
  onStep: (direction: 1 | -1) => void;
}

export function TimelineChart({ state, name, label, kinds, colors, onStep }: Props) {
  const head = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const lanes = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const view = useRef<TimelineView | null>(null);
  /** What was last said, and of which step. */
  const [said, setSaid] = useState({ state, text: "" });
  const shelf = useContext(ShelfContext);
  const helpId = useId();
  const look = { colors, paints: kinds.map((kind) => kind.paint) };
  const latest = useRef({ look, kinds });
  latest.current = { look, kinds };

  useEffect(() => {
    if (!head.current || !scroller.current || !lanes.current) return undefined;
    const elements = { head: head.current, scroller: scroller.current, lanes: lanes.current };
    const made = new TimelineView(state, elements, latest.current.look, (hover) =>
      showTip(tip.current, state, hover, latest.current.kinds),
    );
    view.current = made;
    return () => {
      showTip(tip.current, state, null, []);
      made.stop();
      view.current = null;
    };
  }, [state]);
  useEffect(() => view.current?.setLook(latest.current.look), [colors]);
  useEffect(
    () =>
      shelf?.add({
        name,
        toImage: (format, title) => {
          const width = scroller.current?.clientWidth ?? 0;
          const shown = latest.current;
          const kindsShown = kindsIn(state, shown.kinds);
          return timelineImage(format, { state, title, width, kinds: kindsShown, look: shown.look });
        },
      }),
    [shelf, name, state],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const done = act(event, state, view.current?.pointedTime ?? undefined, {
      onStep,
      onSearch: () => search.current?.focus(),
    });
    if (!done) return;
    event.preventDefault();
    const selected = state.selected.peek();
    setSaid({ state, text: selected === null ? "" : describeEvent(state.timeline, selected, kinds) });
  };

  const layout = layoutLanes(state.timeline.lanes, state.folded.value);
  const { lanes: infos } = state.timeline;
  return (
    <div class="timeline">
      <Tools state={state} search={search} />
      <ul class="legend legend-plain" aria-label="Colours">
        {kindsIn(state, kinds).map((kind) => (
          <li key={kind.key} title={kind.meaning}>
            <Swatch color={kind.paint} /> {kind.title}
          </li>
        ))}
      </ul>
      <div class="timeline-frame">
        <canvas class="timeline-head" ref={head} aria-hidden="true" />
        <div class="timeline-lanes" ref={scroller} style={{ height: `${Math.min(HEIGHT, layout.height + 2)}px` }}>
          <div class="timeline-content" style={{ height: `${layout.height}px` }}>
            <canvas
              class="timeline-canvas"
              ref={lanes}
              tabIndex={0}
              role="application"
              aria-roledescription="timeline"
              aria-label={label}
              aria-describedby={helpId}
              onKeyDown={onKeyDown}
            />
            {layout.lanes.map(({ lane, top, rowsTop, rows, rowHeight, folded }) => (
              <div
                key={lane}
                class="lane-box"
                style={{ top: `${top}px`, height: `${rowsTop - top + rows * rowHeight}px` }}
              >
                <button
                  type="button"
                  class="lane-title"
                  aria-expanded={!folded}
                  onClick={() => state.fold(lane, !folded)}
                >
                  <span aria-hidden="true">{folded ? "▸" : "▾"}</span> {infos[lane]?.title}
                  {folded && <span class="amount"> {plural(infos[lane]?.rows ?? 0, "row")}</span>}
                </button>
              </div>
            ))}
          </div>
        </div>
        <div class="timeline-tip" ref={tip} hidden />
      </div>
      <p class="visually-hidden" id={helpId}>
        Arrow keys go to the next and previous event, to the one around and the longest inside. W and S or plus and
        minus zoom, A and D move, 0 shows the whole step, F zooms to the selected event, L goes to its launch or to what
        it launched, N goes to the next hit, slash to the search, brackets to other steps. The table lists the events in
        sight.
      </p>
      <p class="visually-hidden" aria-live="polite">
        {said.state === state ? said.text : ""}
      </p>
      <EventDetails state={state} kinds={kinds} />
    </div>
  );
}

/** Those that the step has events of. */
function kindsIn(state: TimelineState, kinds: readonly PaintedPart[]): PaintedPart[] {
  const present = new Set(state.timeline.kind);
  return kinds.filter((_, index) => present.has(index));
}

interface Actions {
  onStep: (direction: 1 | -1) => void;
  onSearch: () => void;
}

/** Does what a key stands for; false where it stands for nothing. */
function act(event: KeyboardEvent, state: TimelineState, center: number | undefined, actions: Actions): boolean {
  const pan = event.shiftKey ? FAST_PAN_PART : PAN_PART;
  const selected = state.selected.peek();
  switch (event.key) {
    case "w":
    case "W":
    case "+":
    case "=":
      state.zoom(KEY_ZOOM, center);
      return true;
    case "s":
    case "S":
    case "-":
    case "_":
      state.zoom(1 / KEY_ZOOM, center);
      return true;
    case "a":
    case "A":
      state.pan(-pan);
      return true;
    case "d":
    case "D":
      state.pan(pan);
      return true;
    case "0":
      state.reset();
      return true;
    case "f":
      if (selected !== null) state.zoomTo(selected);
      return true;
    case "l":
      state.followLaunch();
      return true;
    case "n":
      state.jumpToHit(1);
      return true;
    case "N":
      state.jumpToHit(-1);
      return true;
    case "/":
      actions.onSearch();
      return true;
    case "[":
      actions.onStep(-1);
      return true;
    case "]":
      actions.onStep(1);
      return true;
    case "Escape":
      state.select(null);
      return true;
    default:
      return state.step(event.key);
  }
}

function Tools({ state, search }: { state: TimelineState; search: { current: HTMLInputElement | null } }) {
  const hits = state.hits.value;
  const place = state.hitPlace();
  const allFolded = state.folded.value.size === state.timeline.lanes.length;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    state.jumpToHit(event.shiftKey ? -1 : 1);
  };
  return (
    <div class="toolbar" role="group" aria-label="Timeline tools">
      <span class="tool-group">
        <button
          type="button"
          class="button button-small"
          title="Zoom in (W)"
          aria-label="Zoom in"
          onClick={() => state.zoom(KEY_ZOOM)}
        >
          +
        </button>
        <button
          type="button"
          class="button button-small"
          title="Zoom out (S)"
          aria-label="Zoom out"
          onClick={() => state.zoom(1 / KEY_ZOOM)}
        >
          −
        </button>
        <button type="button" class="button button-small" title="Show the whole step (0)" onClick={() => state.reset()}>
          Whole step
        </button>
        <button type="button" class="button button-small" onClick={() => state.foldAll(!allFolded)}>
          {allFolded ? "Unfold lanes" : "Fold lanes"}
        </button>
      </span>
      <span class="filter">
        <input
          class="text-field"
          type="search"
          placeholder="Search events"
          aria-label="Search events by name"
          ref={search}
          value={state.query.value}
          onInput={(event) => {
            state.query.value = event.currentTarget.value;
          }}
          onKeyDown={onKeyDown}
        />
      </span>
      {hits && (
        <span class="tool-group">
          <span class="window" role="status">
            {hits.events.length === 0
              ? "No event has this name"
              : place === null
                ? `${count(hits.events.length)} ${hits.events.length === 1 ? "event" : "events"}`
                : `${count(place + 1)} of ${count(hits.events.length)}`}
          </span>
          {hits.events.length > 0 && (
            <>
              <button type="button" class="button button-small" onClick={() => state.jumpToHit(-1)}>
                Previous
              </button>
              <button type="button" class="button button-small" onClick={() => state.jumpToHit(1)}>
                Next
              </button>
            </>
          )}
        </span>
      )}
      {!hits && (
        <>
          <span class="toolbar-gap" />
          <span class="hint">
            <Icon name="info" /> Drag or Alt + Scroll to zoom, Shift + Drag to move
          </span>
        </>
      )}
    </div>
  );
}

/** Beside the pointer, inside the frame. */
function showTip(
  box: HTMLElement | null,
  state: TimelineState,
  hover: Hover | null,
  kinds: readonly PaintedPart[],
): void {
  if (!box) return;
  box.hidden = hover === null;
  if (!hover) return;
  const { timeline } = state;
  const { event } = hover;
  const kind = kindOf(timeline, event, kinds);
  const part = shareOfStep(timeline, event);
  const shape = shapeOf(timeline, event);
  const duration = nanoseconds(durationOf(timeline, event));
  box.replaceChildren(
    tooltip(
      nameOf(timeline, event),
      [
        {
          color: kind?.paint ?? "transparent",
          name: kind?.title ?? "",
          value: part === null ? duration : `${duration}  ${share(part)}`,
        },
        { color: "transparent", name: "starts at", value: startText(timeline, event) },
      ],
      shape === null ? "" : `shapes ${shape}`,
    ),
  );
  const frame = box.parentElement;
  const lanes = frame?.querySelector(".timeline-lanes");
  if (!(frame instanceof HTMLElement) || !(lanes instanceof HTMLElement)) return;
  const left = hover.x + 14;
  const overflows = left + box.offsetWidth > frame.clientWidth;
  box.style.left = `${Math.max(0, overflows ? hover.x - box.offsetWidth - 10 : left)}px`;
  box.style.top = `${lanes.offsetTop + hover.y + 16}px`;
}
