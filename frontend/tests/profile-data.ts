/** A profile for tests: two whole steps and a partial one, with every part that a trace can have. */

import type { ProfileAnswer, StepProfile, TraceProfile } from "../src/api/profile-types";

export function step(
  number: number | null,
  parts: Partial<Record<string, number>>,
  change: Partial<StepProfile> = {},
): StepProfile {
  const none = { kernel: 0, memcpy: 0, memset: 0, communication: 0, runtime: 0, data_loading: 0, cpu_op: 0, other: 0 };
  const categories = { ...none, ...parts } as Record<string, number>;
  return {
    step: number,
    start_us: 0,
    duration_us: Object.values(categories).reduce((sum, time) => sum + time, 0),
    partial: false,
    categories_us: categories,
    idle_us: null,
    ...change,
  };
}

const times = (hostSelf: number, hostTotal: number, device: number, deviceTotal: number) => ({
  calls: 2,
  host_self_us: hostSelf,
  host_total_us: hostTotal,
  device_us: device,
  device_total_us: deviceTotal,
});

export const PROFILE: TraceProfile = {
  path: "/runs/a/<b>trace</b>.json",
  rank: 0,
  world_size: 2,
  device: "GPU X",
  marked: true,
  warnings: ["w1", "w2", "w3"],
  steps: [
    step(5, { kernel: 50, other: 100 }, { partial: true }),
    step(
      6,
      { kernel: 600, data_loading: 400 },
      { idle_us: { input: 300, synchronisation: 0, launch: 100, communication: 0, other: 0 } },
    ),
    step(
      7,
      { kernel: 600, data_loading: 1400 },
      { idle_us: { input: 1400, synchronisation: 0, launch: 0, communication: 0, other: 0 } },
    ),
  ],
  device_timeline_us: {
    compute: 600,
    communication: 200,
    communication_exposed: 100,
    memcpy: 50,
    memcpy_exposed: 0,
    busy: 700,
    idle: 300,
    total: 1000,
  },
  operators: [
    { name: "aten::mm", ...times(100, 150, 300, 300) },
    { name: "aten::<i>add</i>", ...times(300, 300, 50, 50) },
  ],
  operators_by_shape: [{ name: "aten::mm", shapes: "[[8,64],[64,64]]", ...times(100, 150, 300, 300) }],
  call_sites: [
    {
      operator: "aten::mm",
      frames: ["model.py(3): forward", "train.py(9): step"],
      backward: true,
      calls: 1,
      host_self_us: 60,
      device_us: 200,
    },
  ],
  modules: [
    { name: "Net_0", module: 0, parent: null, calls: 1, host_self_us: 10, host_total_us: 100, device_us: 350 },
    { name: "Linear_0", module: 0, parent: 0, calls: 1, host_self_us: 20, host_total_us: 20, device_us: 100 },
    { name: "Block_0", module: 0, parent: 0, calls: 1, host_self_us: 5, host_total_us: 70, device_us: 250 },
    { name: "Linear_1", module: 1, parent: 2, calls: 1, host_self_us: 65, host_total_us: 65, device_us: 250 },
  ],
  kernels: [
    { name: "gemm", communication: false, calls: 4, total_us: 300, min_us: 50, max_us: 100 },
    { name: "ncclKernel", communication: true, calls: 2, total_us: 100, min_us: 40, max_us: 60 },
  ],
  device_work: [
    { name: "gemm", kind: "kernel", operator: "aten::mm", calls: 4, total_us: 300, min_us: 50, max_us: 100 },
    { name: "Memcpy HtoD", kind: "memcpy", operator: null, calls: 1, total_us: 50, min_us: 50, max_us: 50 },
  ],
  unattributed_device_us: 50,
  memory: {
    devices: [
      {
        device: "cpu",
        relative: true,
        peak_us: 1,
        peak_allocated_bytes: 10,
        peak_reserved_bytes: null,
        time_us: [0, 1],
        allocated_bytes: [0, 10],
        reserved_bytes: null,
        holders: [],
      },
      {
        device: "cuda:0",
        relative: false,
        peak_us: 500,
        peak_allocated_bytes: 3 * 1024 ** 3,
        peak_reserved_bytes: 4 * 1024 ** 3,
        time_us: [0, 500, 900],
        allocated_bytes: [1024 ** 3, 3 * 1024 ** 3, 1024 ** 3],
        reserved_bytes: [4 * 1024 ** 3, 4 * 1024 ** 3, 4 * 1024 ** 3],
        holders: [{ operator: "aten::mm", bytes: 2 * 1024 ** 3 }],
      },
    ],
  },
  collectives: [{ operation: "all_reduce", group: "dp", calls: 2, total_us: 100, exposed_us: 40, bytes: 1_000_000 }],
  profiler_overhead_us: 12,
  findings: [
    {
      cause: "data_loading",
      share: 0.6,
      speedup: { low: 1.2, expected: 2.5, high: 3 },
      evidence: "In 60 % <u>loading</u>.",
      action: "More workers.",
    },
    {
      cause: "synchronisation",
      share: 0.05,
      speedup: { low: 1, expected: 1.02, high: 1.05 },
      evidence: "item() 3 times.",
      action: "Keep it there.",
    },
  ],
};

export const ANSWER: ProfileAnswer = {
  run: "a",
  attempt: "20261130T214150.123456Z",
  window: 0,
  loop: "train",
  rank: 0,
  world_size: 2,
  recorded_unix_s: 0,
  step_time_us: { n: 2, mean: 1500, median: 1500, min: 1000, max: 2000 },
  dilation: { factor: 1.6, low: 1.5, high: 1.8, profiled: 2, unprofiled: 100 },
  headline: "60 % of the step time is data loading",
  profile: PROFILE,
  collectives: {
    ranks: [0, 1],
    calls: 2,
    operations: [
      { operation: "all_reduce", group: "dp", calls: 1, transfer_us: 100, wait_us: [30, 0], late_us: [0, 30] },
      { operation: "broadcast", group: "one", calls: 1, transfer_us: 10, wait_us: [5, null], late_us: [0, null] },
    ],
    clock_offset_us: [0, -4],
    warnings: ["One call has no partner."],
  },
  ranks: [
    { rank: 0, run: "a" },
    { rank: 1, run: "a/rank_1" },
  ],
  timelines: [
    { index: 0, step: 5, events: 1, left_out: 0 },
    { index: 1, step: 6, events: 6, left_out: 3 },
    { index: 2, step: 7, events: 1, left_out: 0 },
  ],
};
