/** ECharts, fetched when the first chart is drawn. */

import type * as EChartsModule from "./echarts";

let module: Promise<typeof EChartsModule> | null = null;

export function loadECharts(): Promise<typeof EChartsModule> {
  module ??= import("./echarts").catch((error: unknown) => {
    // Forget the failure, so that a later chart tries again.
    module = null;
    throw error;
  });
  return module;
}
