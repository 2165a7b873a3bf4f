/**
 * The answers of the server, as `docs/http_api.md` describes them.
 * A number that was not measured is null; everything that an older server may lack is optional.
 */

import type { Measured } from "./measured";
import type { PartInfo, ProfileInfo } from "./profile-types";

export type { Measured };

export interface StageInfo {
  key: string;
  title: string;
  /** Key into the palette. */
  color: string;
  meaning: string;
}

export interface SegmentInfo {
  key: string;
  title: string;
  meaning: string;
}

export interface AttemptInfo {
  attempt: string;
  started_unix_s: Measured;
  steps: number;
  first_step: Measured;
  last_step: Measured;
}

export interface LoopInfo {
  loop: string;
  steps: number;
  first_step: Measured;
  last_step: Measured;
  attempts: AttemptInfo[];
}

export interface RunInfo {
  run: string;
  /** Joins the ranks of one training. */
  group: string;
  rank: number;
  world_size: Measured;
  last_update_unix_s: Measured;
  /** Recorded windows, oldest first. */
  profiles?: ProfileInfo[];
  /** Empty where the run holds no recorded steps. */
  loops: LoopInfo[];
}

export interface RunsAnswer {
  version?: string;
  stages: StageInfo[];
  segments: SegmentInfo[];
  /** Exclusive parts of a profiled step, in order of priority. */
  categories?: PartInfo[];
  idle_causes?: PartInfo[];
  /** `kind` of a timeline's events is an index into these. */
  event_kinds?: PartInfo[];
  definitions?: Record<string, string>;
  runs: RunInfo[];
  skipped?: { run: string; reason: string }[];
}

export interface StepTimeSummary {
  n: number;
  mean: Measured;
  median: Measured;
  p5: Measured;
  p95: Measured;
  p99: Measured;
  min: Measured;
  max: Measured;
}

export interface StageSummary {
  key: string;
  share: Measured;
  total_s: Measured;
  n: number;
  nonzero: Measured;
  mean_s: Measured;
  median_s: Measured;
  p95_s: Measured;
  p99_s: Measured;
  max_s: Measured;
}

export interface SegmentSummary {
  key: string;
  count: number;
  total_s: Measured;
  stages_s: Record<string, Measured>;
}

export interface ResourceStatistics {
  title?: string;
  meaning?: string;
  unit?: string;
  mean?: Measured;
  median?: Measured;
  p95?: Measured;
  max?: Measured;
  n?: Measured;
}

/** `n` and `interval_s` beside one entry per measured quantity. */
export type Resources = Record<string, Measured | string | ResourceStatistics>;

export type EnvironmentValue =
  string | number | boolean | null | EnvironmentValue[] | { [key: string]: EnvironmentValue };

export interface OverviewAnswer {
  run: string;
  loop: string;
  attempt: string | null;
  attempts: AttemptInfo[];
  rank: number;
  world_size: Measured;
  steps: number;
  first_step: Measured;
  last_step: Measured;
  superseded_steps: Measured;
  damaged_chunks: Measured;
  damage: string[];
  notes: string[];
  headline: string;
  step_time_s: StepTimeSummary | null;
  steps_per_s: Measured;
  stages: StageSummary[];
  wall_s: { steps: Measured; segments: Measured; total: Measured } | null;
  segments: SegmentSummary[];
  environment: { [key: string]: EnvironmentValue } | null;
  resources: Resources | null;
}

export interface Bins {
  count: number[];
  step_first: number[];
  step_last: number[];
  unix_s: Measured[];
  time_s: Record<"mean" | "min" | "p5" | "median" | "p95" | "max", Measured[]>;
  stages_s: Record<string, { mean: Measured[]; min: Measured[]; max: Measured[] }>;
}

export interface Histogram {
  edges_s: number[];
  counts: number[];
  below: number;
  above: number;
}

export interface Distribution {
  n: number;
  mean_s: Measured;
  min_s: Measured;
  p5_s: Measured;
  p25_s: Measured;
  median_s: Measured;
  p75_s: Measured;
  p95_s: Measured;
  p99_s: Measured;
  max_s: Measured;
  histogram: Histogram | null;
}

export interface StageDistribution extends Distribution {
  key: string;
  share: Measured;
  total_s: Measured;
  nonzero: Measured;
}

export interface WorstStep {
  step: number;
  global_step: Measured;
  batch: Measured;
  epoch: Measured;
  attempt: string;
  unix_s: Measured;
  wall_s: Measured;
  times_median: Measured;
  excess_stage: string | null;
  excess_s: Measured;
  stages_s: Record<string, Measured>;
}

export interface SegmentRow {
  key: string;
  step: number;
  wall_s: Measured;
  unix_s: Measured;
  stages_s: Record<string, Measured>;
}

export interface StepsAnswer {
  run: string;
  loop: string;
  attempt: string | null;
  first_step: Measured;
  last_step: Measured;
  from: Measured;
  to: Measured;
  steps: number;
  steps_total: number;
  stages: string[];
  bins: Bins;
  distribution: { step: Distribution | null; stages: StageDistribution[] };
  worst: WorstStep[];
  segments: SegmentRow[];
  segments_total: number;
}
