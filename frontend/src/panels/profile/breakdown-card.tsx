/** Where the time of each profiled step goes, and what the device waits for. */

import { useMemo, useState } from "preact/hooks";
import type { ProfileAnswer, StepProfile } from "../../api/profile-types";
import { Chart } from "../../charts/chart";
import { count, microseconds, share } from "../../format/number";
import { theme } from "../../host/theme";
import { definedTerms, paintParts } from "../../state/definitions";
import type { ChartColors } from "../../theme/palette";
import { Card } from "../../ui/card";
import { type Column, DataTable, tableCsv } from "../../ui/data-table";
import { Segmented } from "../../ui/segmented";
import { Swatch } from "../../ui/swatch";
import { breakdownOption, describeStep } from "./breakdown-chart";
import { type Breakdown, type PartRow, breakdownFinding, partRows, timesOf } from "./breakdown-rows";
import { stepName, stepsText, wholeSteps } from "./steps";

interface Props {
  answer: ProfileAnswer;
  colors: ChartColors;
  /** Place of the step that the timeline shows. */
  step: number;
  onStep: (place: number) => void;
  goToTimeline: () => void;
}

export function BreakdownCard({ answer, colors, step, onStep, goToTimeline }: Props) {
  const [what, setWhat] = useState<Breakdown>("categories");
  const [asShares, setAsShares] = useState(false);
  const { steps } = answer.profile;
  const categories = paintParts("categories", theme.value);
  const causes = steps.some((each) => each.idle_us !== null) ? paintParts("idle_causes", theme.value) : [];
  const shown = what === "idle" && causes.length > 0 ? "idle" : "categories";
  const parts = shown === "idle" ? causes : categories;
  const option = useMemo(
    () => breakdownOption({ steps, parts, what: shown, asShares, chosen: step, colors }),
    [steps, shown, asShares, step, colors],
  );
  const rows = partRows(steps, parts, shown);
  const finding = breakdownFinding(steps, partRows(steps, categories, "categories"), partRows(steps, causes, "idle"));
  const perStep = stepColumns(shown, parts);
  const partial = steps.filter((each) => each.partial).length;

  return (
    <Card
      kind="Step breakdown"
      finding={finding}
      scope={stepsText(steps)}
      hasChart
      csv={() => tableCsv(perStep, steps)}
      table={() => (
        <>
          <DataTable
            caption="Time by part over the whole steps"
            columns={PART_COLUMNS}
            rows={rows}
            rowKey={(row) => row.part.key}
            full
          />
          <DataTable
            caption="Time by part of each step"
            columns={perStep}
            rows={steps}
            rowKey={(_, index) => String(index)}
            full
          />
        </>
      )}
      definitions={[
        ...definedTerms([
          ["Step time", "profile.step_time"],
          ["Partial step", "profile.partial"],
          ["Categories", "profile.categories"],
          ["Share", "profile.category.share"],
          ["Idle", "profile.idle"],
        ]),
        ...parts.map(({ title, meaning }) => ({ term: title, text: meaning })),
      ]}
    >
      <div class="toolbar" role="group" aria-label="What the bars show">
        {causes.length > 0 && (
          <Segmented
            label="Breakdown"
            value={shown}
            choices={[
              { value: "categories", title: "Categories" },
              { value: "idle", title: "Idle by cause" },
            ]}
            onChange={setWhat}
          />
        )}
        <Segmented
          label="Scale"
          value={asShares ? "share" : "time"}
          choices={[
            { value: "time", title: "Time" },
            { value: "share", title: "Share of step" },
          ]}
          onChange={(value) => setAsShares(value === "share")}
        />
      </div>
      <ul class="legend legend-plain" aria-label="Colours">
        {rows
          .filter((row) => (row.max ?? 0) > 0)
          .map((row) => (
            <li key={row.part.key} title={row.part.meaning}>
              <Swatch color={row.part.paint} /> {row.part.title} <span class="amount">{share(row.share)}</span>
            </li>
          ))}
      </ul>
      <Chart
        name={shown === "idle" ? "idle by cause" : "categories"}
        label={`Time of each profiled step by ${shown === "idle" ? "cause of the device's idleness" : "category"}. ${finding}.`}
        height={280}
        option={option}
        cursor={{
          items: steps.map((_, index) => ({ axis: "x", at: index })),
          describe: (index) => {
            const each = steps[index];
            return each ? describeStep(each, parts, shown) : "";
          },
        }}
        onPick={onStep}
      />
      <p class="chart-note">
        Shares are of {count(wholeSteps(steps).length)} whole {wholeSteps(steps).length === 1 ? "step" : "steps"}.
        {partial > 0 && " Partial steps are pale."}
        {steps.length > 1 && ` A click on a bar chooses the step for the timeline: now ${stepName(steps[step])}.`}{" "}
        <button type="button" class="link" onClick={goToTimeline}>
          Go to the timeline
        </button>
      </p>
    </Card>
  );
}

const time = (title: string, name: "mean" | "median" | "min" | "max"): Column<PartRow> => ({
  title,
  name: `${name}_us`,
  raw: (row) => row[name],
  cell: (row) => microseconds(row[name]),
  numeric: true,
});

const PART_COLUMNS: readonly Column<PartRow>[] = [
  {
    title: "Part",
    name: "part",
    raw: (row) => row.part.key,
    cell: (row) => (
      <span title={row.part.meaning}>
        <Swatch color={row.part.paint} /> {row.part.title}
      </span>
    ),
  },
  { title: "Share", name: "share", raw: (row) => row.share, cell: (row) => share(row.share), numeric: true },
  time("Mean", "mean"),
  time("Median", "median"),
  time("Min", "min"),
  time("Max", "max"),
  { title: "n", name: "n", raw: (row) => row.n, cell: (row) => count(row.n), numeric: true },
];

function stepColumns(what: Breakdown, parts: ReturnType<typeof paintParts>): Column<StepProfile>[] {
  return [
    {
      title: "Step",
      name: "step",
      raw: (row) => row.step,
      cell: (row) => (row.step === null ? "whole trace" : count(row.step)),
    },
    { title: "Partial", name: "partial", raw: (row) => row.partial, cell: (row) => (row.partial ? "yes" : "no") },
    {
      title: "Step time",
      name: "duration_us",
      raw: (row) => row.duration_us,
      cell: (row) => microseconds(row.duration_us),
      numeric: true,
    },
    ...parts.map((part): Column<StepProfile> => ({
      title: part.title,
      name: `${what === "idle" ? "idle_" : ""}${part.key}_us`,
      raw: (row) => timesOf(row, what)?.[part.key] ?? null,
      cell: (row) => microseconds(timesOf(row, what)?.[part.key]),
      numeric: true,
      definition: part.meaning,
    })),
  ];
}
