/** The timeline of one step: which step, its events as a chart or as a table. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { address } from "../../../api/client";
import type { ProfileAnswer, TimelineAnswer } from "../../../api/profile-types";
import { lastingQueries, useSlots } from "../../../api/queries";
import { count, microseconds, nanoseconds, plural, share } from "../../../format/number";
import { theme } from "../../../host/theme";
import { type PaintedPart, definedTerms, paintParts } from "../../../state/definitions";
import { CHART_COLORS } from "../../../theme/palette";
import { Card } from "../../../ui/card";
import { type Column, DataTable, tableCsv } from "../../../ui/data-table";
import { Failure, Loading } from "../../../ui/states";
import { Swatch } from "../../../ui/swatch";
import { stepName } from "../steps";
import { EventDetails } from "./event-details";
import { kindOf, laneOf, nameOf, shapeOf, shareOfStep, startText } from "./event-text";
import { durationOf, longestIn, readTimeline } from "./model";
import { TimelineState } from "./state";
import { momentText } from "./ticks";
import { TimelineChart } from "./timeline-chart";

export const TIMELINE_ID = "profile-timeline";
/** Rows of the table; the file holds all. */
const TABLE_ROWS = 200;

interface Props {
  answer: ProfileAnswer;
  /** Place of the step. */
  step: number;
  onStep: (place: number) => void;
}

/** The events are many: they are asked for once the card comes near the screen. */
export function TimelineCard(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (!box.current) return undefined;
    const approach = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setNear(true);
      },
      { rootMargin: "600px" },
    );
    approach.observe(box.current);
    return () => approach.disconnect();
  }, []);
  return (
    <div class="timeline-slot" id={TIMELINE_ID} ref={box} tabIndex={-1}>
      {near ? (
        <LoadedCard {...props} />
      ) : (
        <Card kind="Timeline" finding={`Events of ${stepName(props.answer.profile.steps[props.step])}`}>
          {null}
        </Card>
      )}
    </div>
  );
}

function LoadedCard({ answer, step, onStep }: Props) {
  const { run, attempt, window, profile, timelines } = answer;
  const kept = timelines.find(({ index }) => index === step);
  const url = address("api/v1/timeline", { run, attempt, window, index: step });
  const slot = useSlots<TimelineAnswer>(kept ? new Map([["timeline", url]]) : new Map(), lastingQueries).get(
    "timeline",
  );
  const events = slot?.data ?? null;
  const last = useRef<TimelineState | null>(null);
  const state = useMemo(() => (events ? new TimelineState(readTimeline(events), last.current) : null), [events]);
  last.current = state ?? last.current;
  const kinds = paintParts("event_kinds", theme.value);
  const shown = profile.steps[events?.index ?? step];
  const go = (direction: 1 | -1): void => {
    const next = step + direction;
    if (next >= 0 && next < profile.steps.length) onStep(next);
  };
  const columns = eventColumns(state, kinds);
  const leftOut = state && state.timeline.leftOut > 0 ? leftOutText(state) : null;

  return (
    <Card
      kind="Timeline"
      finding={timelineFinding(shown?.duration_us, stepName(shown), state)}
      {...(leftOut ? { scope: leftOut } : {})}
      busy={slot?.loading ?? false}
      hasChart
      {...(state
        ? {
            csv: () => tableCsv(columns, longestIn(state.timeline, state.window.peek(), Infinity).events),
            table: () => <EventTable state={state} columns={columns} kinds={kinds} />,
          }
        : {})}
      definitions={[
        ...definedTerms([
          ["Timeline", "profile.timeline"],
          ["Start", "profile.timeline.start"],
          ["Duration", "profile.timeline.duration"],
          ["Launch", "profile.timeline.launch"],
          ["Left out", "profile.timeline.left_out"],
        ]),
        ...kinds.map(({ title, meaning }) => ({ term: title, text: meaning })),
      ]}
    >
      <StepChoice answer={answer} step={step} onStep={onStep} go={go} />
      {!kept && <p class="state">The events of this step were not kept.</p>}
      {slot?.error && <Failure what="the events of this step" message={slot.error} retry={slot.retry} />}
      {kept && !state && !slot?.error && <Loading what="the events of this step" />}
      {kept && state && state.timeline.n === 0 && <p class="state">This step holds no events.</p>}
      {kept && state && state.timeline.n > 0 && (
        <TimelineChart
          state={state}
          name={stepName(shown)}
          label={`Events of ${stepName(shown)} over time, in ${plural(state.timeline.lanes.length, "lane")}. ${timelineFinding(shown?.duration_us, stepName(shown), state)}.`}
          kinds={kinds}
          colors={CHART_COLORS[theme.value]}
          onStep={go}
        />
      )}
    </Card>
  );
}

function timelineFinding(duration: number | undefined, name: string, state: TimelineState | null): string {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const took = `${title} took ${microseconds(duration)}`;
  if (!state) return took;
  const { n, lanes } = state.timeline;
  return `${took}: ${plural(n, "event")} in ${plural(lanes.length, "lane")}`;
}

function leftOutText({ timeline }: TimelineState): string {
  const longest = timeline.leftOutDuration > 0 ? `, none longer than ${nanoseconds(timeline.leftOutDuration)}` : "";
  return `${plural(timeline.leftOut, "further event")} left out${longest}`;
}

interface ChoiceProps extends Props {
  go: (direction: 1 | -1) => void;
}

function StepChoice({ answer, step, onStep, go }: ChoiceProps) {
  const { steps } = answer.profile;
  if (steps.length < 2) return null;
  return (
    <div class="toolbar" role="group" aria-label="Step of the timeline">
      <span class="tool-group">
        <button
          type="button"
          class="button button-small"
          title="Previous step ([)"
          disabled={step <= 0}
          onClick={() => go(-1)}
        >
          ‹ Previous step
        </button>
        <label class="choice">
          <span class="visually-hidden">Step</span>
          <select value={String(step)} onChange={(event) => onStep(Number(event.currentTarget.value))}>
            {steps.map((each, place) => (
              <option key={place} value={String(place)}>
                {stepName(each)}, {microseconds(each.duration_us)}
                {each.partial ? " (partial)" : ""}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="button button-small"
          title="Next step (])"
          disabled={step >= steps.length - 1}
          onClick={() => go(1)}
        >
          Next step ›
        </button>
      </span>
    </div>
  );
}

function eventColumns(state: TimelineState | null, kinds: readonly PaintedPart[]): Column<number>[] {
  if (!state) return [];
  const { timeline } = state;
  return [
    {
      title: "Event",
      name: "name",
      raw: (event) => nameOf(timeline, event),
      cell: (event) => (
        <button type="button" class="link link-name" title={nameOf(timeline, event)} onClick={() => state.jump(event)}>
          {nameOf(timeline, event)}
        </button>
      ),
    },
    {
      title: "Kind",
      name: "kind",
      raw: (event) => kindOf(timeline, event, kinds)?.key,
      cell: (event) => (
        <>
          <Swatch color={kindOf(timeline, event, kinds)?.paint ?? "transparent"} />{" "}
          {kindOf(timeline, event, kinds)?.title}
        </>
      ),
    },
    { title: "Lane", name: "lane", raw: (event) => laneOf(timeline, event), wide: true },
    { title: "Row", name: "row", raw: (event) => timeline.row[event], numeric: true, fileOnly: true },
    {
      title: "Start",
      name: "start_ns",
      raw: (event) => timeline.start[event],
      cell: (event) => startText(timeline, event),
      numeric: true,
    },
    {
      title: "Duration",
      name: "duration_ns",
      raw: (event) => durationOf(timeline, event),
      cell: (event) => nanoseconds(durationOf(timeline, event)),
      numeric: true,
    },
    {
      title: "Share of step",
      name: "share",
      raw: (event) => shareOfStep(timeline, event),
      cell: (event) => share(shareOfStep(timeline, event)),
      numeric: true,
    },
    {
      title: "Input shapes",
      name: "shapes",
      wide: true,
      raw: (event) => shapeOf(timeline, event),
      cell: (event) => shapeOf(timeline, event) ?? "",
    },
  ];
}

interface TableProps {
  state: TimelineState;
  columns: readonly Column<number>[];
  kinds: readonly PaintedPart[];
}

/** The events in the window, longest first. */
function EventTable({ state, columns, kinds }: TableProps) {
  const window = state.settled.value;
  const { events, total } = useMemo(() => longestIn(state.timeline, window, TABLE_ROWS), [state, window]);
  const precision = (window.to - window.from) / 1000;
  return (
    <>
      <p class="chart-note">
        {total > events.length
          ? `The longest ${count(events.length)} of ${count(total)} events`
          : plural(total, "event")}{" "}
        from {momentText(window.from, precision)} to {momentText(window.to, precision)}, which is what the chart shows.
        The CSV file holds all of them.
      </p>
      <DataTable
        caption="Events in the window, longest first"
        columns={columns}
        rows={events}
        rowKey={(event) => String(event)}
      />
      <EventDetails state={state} kinds={kinds} />
    </>
  );
}
