/** The profile shown against another window: by how much a step changed, and in which part of it. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { address } from "../../api/client";
import type { ComparedSide, ComparisonAnswer } from "../../api/profile-types";
import { useSlots } from "../../api/queries";
import { Chart } from "../../charts/chart";
import { count, microseconds, microsecondsChange, plural } from "../../format/number";
import { theme } from "../../host/theme";
import { type PaintedPart, definedTerms, definition, paintParts } from "../../state/definitions";
import {
  type Comparison,
  type RunWindow,
  type ShownProfile,
  comparisonOf,
  windowSteps,
  withProfiles,
} from "../../state/profiles";
import { catalogue, selection, view } from "../../state/store";
import type { ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { Failure, Loading } from "../../ui/states";
import { Swatch } from "../../ui/swatch";
import { ComparedOperatorsCard } from "./compared-operators-card";
import { ROW_HEIGHT, comparisonOption, describeRow } from "./comparison-chart";
import { ComparisonChoice } from "./comparison-choice";
import { type ComparedRow, certaintyText, comparedRows, intervalText, tookTime } from "./comparison-rows";

interface Props {
  shown: ShownProfile;
  colors: ChartColors;
}

export function ComparisonCards({ shown, colors }: Props) {
  const runs = catalogue.value?.runs ?? [];
  const comparison = comparisonOf(runs, selection.value, shown, view.value.against);
  if (comparison.against === null) return <NothingToCompare others={withProfiles(runs).length - 1} />;
  return <Compared shown={shown} colors={colors} comparison={comparison} against={comparison.against} />;
}

/** others: how many runs that are not selected hold a profile. */
function NothingToCompare({ others }: { others: number }) {
  return (
    <Card kind="Comparison" finding="There is no second window to compare this one with">
      <p>
        A comparison needs a second profiled window: of this run, such as StepProfiler(steps="100:105, 900:905")
        records, or of another run.
        {others === 1 && " Another run holds one: select it on the left."}
        {others > 1 && ` ${plural(others, "other run")} hold one: select them on the left.`}
      </p>
    </Card>
  );
}

function comparisonAddress({ run, info }: RunWindow, shown: ShownProfile): string {
  return address("api/v1/profile-comparison", {
    run: run.run,
    attempt: info.attempt,
    window: info.window,
    other_run: shown.run.run,
    other_attempt: shown.info.attempt,
    other_window: shown.info.window,
  });
}

interface ComparedProps extends Props {
  comparison: Comparison;
  against: RunWindow;
}

function Compared({ shown, colors, comparison, against }: ComparedProps) {
  const url = comparisonAddress(against, shown);
  const state = useSlots<ComparisonAnswer>(new Map([["comparison", url]])).get("comparison");
  const answer = state?.data ?? null;
  const choice = <ComparisonChoice comparison={comparison} shown={shown} />;
  if (!answer || state?.error) {
    return (
      <Card kind="Comparison" finding="This window against another">
        {choice}
        {state?.error ? (
          <Failure what="the comparison" message={state.error} retry={state.retry} />
        ) : (
          <Loading what="the comparison" />
        )}
      </Card>
    );
  }
  return (
    <>
      <PartsCard answer={answer} busy={state?.loading ?? false} colors={colors} choice={choice} />
      {answer.operators !== null && (
        <ComparedOperatorsCard operators={answer.operators} busy={state?.loading ?? false} />
      )}
    </>
  );
}

/** "Baseline: steps 5–7 of a (n = 3) · this window: …"; a run that both are of is named once. */
function scopeOf({ baseline, other }: ComparisonAnswer): string {
  const sameRun = baseline.run === other.run;
  const side = (each: ComparedSide): string =>
    `${windowSteps(each)}${sameRun ? "" : ` of ${each.run}`} (n = ${count(each.n)})`;
  return `Baseline: ${side(baseline)} · this window: ${side(other)}${sameRun ? ` · ${other.run}` : ""}`;
}

interface PartsProps {
  answer: ComparisonAnswer;
  busy: boolean;
  colors: ChartColors;
  choice: ComponentChildren;
}

function PartsCard({ answer, busy, colors, choice }: PartsProps) {
  const parts = paintParts("categories", theme.value);
  const rows = useMemo(() => comparedRows(answer, parts, colors.muted), [answer, colors]);
  const drawn = useMemo(() => rows.filter(tookTime), [rows]);
  const option = useMemo(() => comparisonOption(drawn, colors), [drawn, colors]);
  const unjudged = rows.some((row) => row.clear === null);
  return (
    <Card
      kind="Comparison"
      finding={answer.headline}
      scope={scopeOf(answer)}
      busy={busy}
      hasChart={drawn.length > 0}
      csv={() => tableCsv(COLUMNS, rows)}
      table={() => (
        <DataTable
          caption="Mean time per step of both windows by part"
          columns={withDefinitions(COLUMNS)}
          rows={drawn}
          rowKey={(row) => row.key}
          full
        />
      )}
      definitions={[
        ...definedTerms([
          ["Difference", "profile.comparison"],
          ["Interval", "profile.comparison.interval"],
          ["Step time", "profile.step_time"],
          ["Partial step", "profile.partial"],
        ]),
        ...meanings(parts),
      ]}
    >
      {choice}
      {drawn.length === 0 ? (
        <p class="state">There is nothing to compare: a window holds no step.</p>
      ) : (
        <>
          <Chart
            name="difference by part"
            label={`Difference of the mean time per step by part, this window minus the baseline. ${answer.headline}.`}
            height={28 + ROW_HEIGHT * drawn.length}
            option={option}
            cursor={{
              items: drawn.map((_, index) => ({ axis: "y", at: index })),
              describe: (index) => {
                const row = drawn[index];
                return row ? describeRow(row) : "";
              },
            }}
          />
          <p class="chart-note">
            Bar: mean per step of this window minus that of the baseline.{" "}
            {unjudged
              ? "A window of one step tells nothing of the spread between steps, so there is no interval."
              : "Whiskers: its 95 % interval. Pale: the interval holds zero, so the change may be chance."}
            {answer.operators === null &&
              " Operators cannot be compared: one of the two traces does not tell them step by step."}
          </p>
        </>
      )}
    </Card>
  );
}

const meanings = (parts: readonly PaintedPart[]): { term: string; text: string }[] =>
  parts.map(({ title, meaning }) => ({ term: title, text: meaning }));

const COLUMNS: readonly Column<ComparedRow>[] = [
  {
    title: "Part",
    name: "part",
    raw: (row) => row.key,
    cell: (row) => (
      <span title={row.meaning || undefined}>
        <Swatch color={row.paint} /> {row.title}
      </span>
    ),
  },
  {
    title: "Baseline",
    name: "baseline_us",
    raw: (row) => row.baseline_us,
    cell: (row) => microseconds(row.baseline_us),
    numeric: true,
  },
  {
    title: "This window",
    name: "other_us",
    raw: (row) => row.other_us,
    cell: (row) => microseconds(row.other_us),
    numeric: true,
  },
  {
    title: "Difference",
    name: "difference_us",
    raw: (row) => row.difference_us,
    cell: (row) => microsecondsChange(row.difference_us),
    numeric: true,
  },
  {
    title: "95 % interval",
    name: "low_us",
    raw: (row) => row.low_us,
    cell: intervalText,
    numeric: true,
  },
  { title: "High", name: "high_us", raw: (row) => row.high_us, fileOnly: true },
  { title: "Clear", name: "clear", raw: (row) => row.clear, cell: certaintyText },
];

const COLUMN_DEFINITIONS: Readonly<Record<string, string>> = {
  difference_us: "profile.comparison",
  low_us: "profile.comparison.interval",
  clear: "profile.comparison.interval",
};

const withDefinitions = (columns: readonly Column<ComparedRow>[]): Column<ComparedRow>[] =>
  columns.map((column) => {
    const key = COLUMN_DEFINITIONS[column.name];
    return key ? { ...column, definition: definition(key) } : column;
  });
