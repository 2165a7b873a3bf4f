/** Steps: where the time of each step goes, over the run and in any window of it. */

import { useMemo } from "preact/hooks";
import { address } from "../../api/client";
import { type SlotState, useSlots } from "../../api/queries";
import type { StepsAnswer } from "../../api/types";
import type { ChartZoom } from "../../charts/chart";
import { theme } from "../../host/theme";
import { type ShownRun, columns } from "../../state/shown";
import { setZoom, view } from "../../state/store";
import type { View } from "../../state/view";
import { CHART_COLORS } from "../../theme/palette";
import { Failure, Loading } from "../../ui/states";
import type { Panel } from "../panel";
import { stepsBetween } from "./bins";
import { DistributionCard } from "./distribution-card";
import { type RunSteps, runSteps } from "./run-steps";
import { SegmentsCard } from "./segments-card";
import { SlowestCard } from "./slowest-card";
import { StagesCard } from "./stages-card";
import { StepTimeCard } from "./step-time-card";
import { StepsToolbar } from "./steps-toolbar";

/**
 * Bins of the whole run, and as many again of a window: about one per two pixels of a chart, below which areas smear
 * into each other.
 */
const BINS_ALONE = 400;
const BINS_BESIDE = 200;
/** Steps on each side when one step is looked at. */
const SURROUNDINGS = 15;

function fullAddress(run: ShownRun, bins: number): string {
  return address("api/v1/steps", { ...run.parameters, bins });
}

function windowAddress(run: ShownRun, bins: number, { from, to }: View): string {
  return address("api/v1/steps", { ...run.parameters, from, to, bins });
}

function zoomOf(run: RunSteps, x: View["x"]): ChartZoom {
  return {
    window: { from: run.window[0], to: run.window[1] },
    full: { from: run.extent[0], to: run.extent[1] },
    reset: () => setZoom(null, null),
    set: ({ from, to }) => {
      const [first, last] = run.extent;
      if (from <= first && to >= last) {
        setZoom(null, null);
        return;
      }
      const steps = stepsBetween(run.bins, x, from, to);
      if (steps) setZoom(steps.from, steps.to);
    },
  };
}

function StepsPanel() {
  const runs = columns.value;
  const shown = view.value;
  const bins = runs.length > 1 ? BINS_BESIDE : BINS_ALONE;
  const full = useSlots<StepsAnswer>(new Map(runs.map((run) => [run.name, fullAddress(run, bins)])));
  const windows = useSlots<StepsAnswer>(new Map(runs.map((run) => [run.name, windowAddress(run, bins, shown)])));
  const ready = useRunSteps(runs, full, windows, shown);
  const colors = CHART_COLORS[theme.value];
  const zoom = (run: RunSteps): ChartZoom => zoomOf(run, shown.x);
  const show = (_: RunSteps, step: number): void => setZoom(Math.max(0, step - SURROUNDINGS), step + SURROUNDINGS);
  const failures = runs.flatMap((run) => {
    const failed = [windows.get(run.name), full.get(run.name)].find((state) => state?.error);
    return failed?.error ? [{ run: run.name, message: failed.error, retry: failed.retry }] : [];
  });
  const links = ready.map((run) => ({
    title: `Every step of ${run.name} (CSV, full precision)`,
    href: address("api/v1/steps.csv", { ...run.run.parameters, from: shown.from, to: shown.to }),
  }));

  return (
    <>
      <StepsToolbar />
      {failures.map(({ run, message, retry }) => (
        <Failure key={run} what={`the steps of ${run}`} message={message} retry={retry} />
      ))}
      {ready.length === 0 && failures.length < runs.length && <Loading what="steps" />}
      {ready.length > 0 && (
        <>
          <StepTimeCard runs={ready} view={shown} colors={colors} zoom={zoom} />
          <StagesCard runs={ready} view={shown} colors={colors} zoom={zoom} links={links} />
          <DistributionCard runs={ready} view={shown} colors={colors} />
          <SlowestCard runs={ready} show={show} />
          <SegmentsCard runs={ready} />
        </>
      )}
    </>
  );
}

type Answers = ReadonlyMap<string, SlotState<StepsAnswer>>;

/** The runs whose answers are there; computed anew only when an answer, the axis, the window or the theme changes. */
function useRunSteps(runs: readonly ShownRun[], full: Answers, windows: Answers, shown: View): RunSteps[] {
  const inputs = runs.flatMap((run) => {
    const whole = full.get(run.name)?.data;
    const state = windows.get(run.name);
    const answer = state?.data ?? whole;
    return whole && answer ? [{ run, whole, answer, busy: state?.loading ?? false }] : [];
  });
  const identity = [
    ...inputs.flatMap(({ run, whole, answer, busy }) => [run, whole, answer, busy]),
    shown.x,
    shown.from,
    shown.to,
    theme.value,
  ];
  // One dependency whose identity changes with any of the inputs, of which there are as many as runs.
  const key = useStableIdentity(identity);
  return useMemo(
    () => inputs.map(({ run, whole, answer, busy }) => runSteps(run, whole, answer, shown, theme.peek(), busy)),
    [key],
  );
}

function useStableIdentity(values: readonly unknown[]): readonly unknown[] {
  const kept = useMemo(() => ({ values }), []);
  const same = kept.values.length === values.length && kept.values.every((value, index) => value === values[index]);
  if (!same) kept.values = values;
  return kept.values;
}

export const stepsPanel: Panel = { id: "steps", title: "Steps", component: StepsPanel, ofSteps: true };
