/** The answers `profile` and `timeline`, as `docs/http_api.md` describes them. Times are microseconds unless named `_ns`. */

import type { Measured } from "./measured";

/** A category, an idle cause or a kind of event, in the server's words. */
export interface PartInfo {
  key: string;
  title: string;
  /** Key into the palette. */
  color: string;
  meaning: string;
}

/** A recorded window, as the list of runs names it. */
export interface ProfileInfo {
  attempt: string;
  window: number;
  loop: string;
  recorded_unix_s: Measured;
  steps: Measured;
  first_step: Measured;
  last_step: Measured;
}

export interface StepProfile {
  step: Measured;
  start_us: number;
  duration_us: number;
  partial: boolean;
  categories_us: Record<string, number>;
  idle_us: Record<string, number> | null;
}

export interface DeviceTimes {
  compute: number;
  communication: number;
  communication_exposed: number;
  memcpy: number;
  memcpy_exposed: number;
  busy: number;
  idle: number;
  total: number;
}

export interface OperatorTimes {
  name: string;
  calls: number;
  host_self_us: number;
  host_total_us: number;
  device_us: number;
  device_total_us: number;
}

export interface OperatorShapeTimes extends OperatorTimes {
  shapes: string | null;
}

export interface CallSite {
  operator: string;
  /** Innermost first. */
  frames: string[];
  backward: boolean;
  calls: number;
  host_self_us: number;
  device_us: number;
}

export interface ModuleTimes {
  name: string;
  module: number;
  /** Place in the list of modules. */
  parent: number | null;
  calls: number;
  host_self_us: number;
  host_total_us: number;
  device_us: number;
}

export interface KernelTimes {
  name: string;
  communication: boolean;
  calls: number;
  total_us: number;
  min_us: number;
  max_us: number;
}

export interface DeviceWorkTimes {
  name: string;
  kind: string;
  operator: string | null;
  calls: number;
  total_us: number;
  min_us: number;
  max_us: number;
}

export interface OperationTimes {
  operation: string;
  group: string | null;
  calls: number;
  total_us: number;
  exposed_us: Measured;
  bytes: Measured;
}

export interface DeviceMemory {
  device: string;
  relative: boolean;
  peak_us: number;
  peak_allocated_bytes: number;
  peak_reserved_bytes: Measured;
  time_us: number[];
  allocated_bytes: number[];
  reserved_bytes: number[] | null;
  holders: { operator: string | null; bytes: number }[];
}

export interface Finding {
  cause: string;
  share: number;
  speedup: { low: number; expected: number; high: number };
  evidence: string;
  action: string;
}

export interface TraceProfile {
  path: string;
  rank: Measured;
  world_size: Measured;
  device: string;
  marked: boolean;
  warnings: string[];
  steps: StepProfile[];
  device_timeline_us: DeviceTimes | null;
  operators: OperatorTimes[];
  operators_by_shape: OperatorShapeTimes[] | null;
  call_sites: CallSite[] | null;
  modules: ModuleTimes[] | null;
  kernels: KernelTimes[];
  device_work: DeviceWorkTimes[];
  unattributed_device_us: Measured;
  memory: { devices: DeviceMemory[] } | null;
  collectives: OperationTimes[];
  profiler_overhead_us: Measured;
  findings: Finding[];
}

export interface CollectiveTimes {
  operation: string;
  group: string | null;
  calls: number;
  transfer_us: number;
  /** Per rank; null for a rank that is not in the group. */
  wait_us: Measured[];
  late_us: Measured[];
}

export interface CollectivesProfile {
  ranks: number[];
  calls: number;
  operations: CollectiveTimes[];
  clock_offset_us: number[] | null;
  warnings: string[];
}

/** Median wall-clock of the profiled steps over that of the unprofiled ones around them. */
export interface Dilation {
  factor: number;
  /** Ends of the 95 % interval. */
  low: Measured;
  high: Measured;
  /** Numbers of steps. */
  profiled: number;
  unprofiled: number;
}

export interface ProfileAnswer {
  run: string;
  attempt: string;
  window: number;
  loop: string;
  rank: number;
  world_size: Measured;
  recorded_unix_s: Measured;
  step_time_us: { n: number; mean: Measured; median: Measured; min: Measured; max: Measured } | null;
  dilation?: Dilation | null;
  headline: string;
  profile: TraceProfile;
  collectives: CollectivesProfile | null;
  ranks: { rank: number; run: string }[];
  timelines: { index: number; step: Measured; events: number; left_out: number }[];
  /** One sentence per rank whose profile could not be read. */
  damage?: string[];
}

/** A mean per step of two windows. */
export interface Compared {
  baseline_us: number;
  other_us: number;
  difference_us: number;
  /** Ends of the 95 % interval of the difference; null, as `clear`, where a side has one step only. */
  low_us: Measured;
  high_us: Measured;
  /** Whether the interval leaves out 0. */
  clear: boolean | null;
}

export interface ComparedSide {
  run: string;
  attempt: string;
  window: number;
  first_step: Measured;
  last_step: Measured;
  /** Number of steps behind the means. */
  n: number;
}

export interface ComparedOperator {
  name: string;
  calls: { baseline: number; other: number };
  host_self: Compared;
  device: Compared;
}

export interface ComparisonAnswer {
  baseline: ComparedSide;
  other: ComparedSide;
  headline: string;
  /** null where a side has no step. */
  step_time_us: Compared | null;
  categories: (Compared & { key: string })[];
  /** The largest changes first; null: a profile does not tell operators step by step. */
  operators: ComparedOperator[] | null;
}

export interface LaneInfo {
  /** `host`, `python` or `device`. */
  kind: string;
  title: string;
  rows: number;
}

/** The events of one step as columns, sorted by lane, row and start. */
export interface TimelineAnswer {
  run: string;
  attempt: string;
  window: number;
  index: number;
  step: Measured;
  step_duration_ns: number;
  left_out: number;
  left_out_ns: number;
  lanes: LaneInfo[];
  names: string[];
  shapes: string[];
  lane: number[];
  row: number[];
  kind: number[];
  name: number[];
  shape: number[];
  start_ns: number[];
  duration_ns: number[];
  launch: number[];
}
