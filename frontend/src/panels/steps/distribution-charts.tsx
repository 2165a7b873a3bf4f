/** The two charts of the distribution card, for one run. */

import { useMemo } from "preact/hooks";
import { Chart } from "../../charts/chart";
import { seconds, share } from "../../format/number";
import type { ChartColors } from "../../theme/palette";
import { roundUp } from "./bins";
import { histogramOption, histogramShares, spreadOption } from "./distribution-options";
import { type DistributionRow, spreadFinding } from "./distribution-rows";
import type { RunSteps } from "./run-steps";

interface SpreadProps {
  run: RunSteps;
  rows: readonly DistributionRow[];
  log: boolean;
  range: { floor: number; top: number };
  colors: ChartColors;
}

export function SpreadChart({ run, rows, log, range, colors }: SpreadProps) {
  const option = useMemo(() => spreadOption(rows, log, range, colors), [rows, log, range.floor, range.top, colors]);
  return (
    <Chart
      name={`${run.name}, spread`}
      label={`Spread of the time of each stage of ${run.name}. ${spreadFinding([run])}.`}
      height={44 + 24 * Math.max(rows.length, 4)}
      option={option}
      cursor={{
        items: rows.map((_, index) => ({ axis: "y", at: index })),
        describe: (index) => {
          const row = rows[index];
          if (!row) return "";
          const { p5_s, median_s, p95_s, p99_s } = row.values;
          return `${row.title}: median ${seconds(median_s)}, p5 ${seconds(p5_s)}, p95 ${seconds(p95_s)}, p99 ${seconds(p99_s)}`;
        },
      }}
    />
  );
}

interface HistogramProps {
  run: RunSteps;
  picked: string;
  rows: ReadonlyMap<string, readonly DistributionRow[]>;
  ignoreOutliers: boolean;
  colors: ChartColors;
}

export function HistogramChart({ run, picked, rows, ignoreOutliers, colors }: HistogramProps) {
  const row = rows.get(run.name)?.find(({ key }) => key === picked);
  const histogram = row?.values.histogram ?? null;
  const option = useMemo(() => {
    if (!row || !histogram) return null;
    // All runs on the same axes.
    const peers = [...rows.values()]
      .flat()
      .flatMap(({ key, values }) => (key === picked ? (values.histogram ?? []) : []));
    const edges = peers.flatMap((peer) => peer.edges_s);
    const shares = peers.flatMap((peer) => histogramShares(peer).map((slice) => slice.share));
    const p95s = [...rows.values()].flat().flatMap(({ key, values }) => (key === picked ? (values.p95_s ?? []) : []));
    const low = Math.min(...edges);
    const bulk = low + 1.3 * (Math.max(...p95s) - low);
    const high = ignoreOutliers && bulk > low ? Math.min(Math.max(...edges), bulk) : Math.max(...edges);
    const range = { low, high, top: roundUp(Math.max(...shares)) };
    return histogramOption(row, histogram, range, colors);
  }, [row, histogram, rows, picked, ignoreOutliers, colors]);
  if (!row || !histogram || !option) return <p class="state">No histogram of this stage in {run.name}.</p>;
  const slices = histogramShares(histogram);
  return (
    <Chart
      name={`${run.name}, ${row.title}`}
      label={`Histogram of ${row.title} of ${run.name}: median ${seconds(row.values.median_s)}, p95 ${seconds(row.values.p95_s)}.`}
      height={230}
      option={option}
      cursor={{
        items: slices.map((slice) => ({ axis: "x", at: slice.middle })),
        describe: (index) => {
          const slice = slices[index];
          return slice ? `${seconds(slice.from)} to ${seconds(slice.to)}: ${share(slice.share)} of the steps` : "";
        },
      }}
    />
  );
}
