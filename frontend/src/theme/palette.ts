/**
 * Every colour that stands for something, once. Stage colours were chosen to stay apart under the three common colour
 * vision deficiencies, above all between neighbours in the stack; a test holds the distances.
 */

import type { ThemeName } from "../host/theme";

type Pair = Readonly<Record<ThemeName, string>>;
const pair = (light: string, dark: string): Pair => ({ light, dark });

export const STAGE_COLORS: Readonly<Record<string, Pair>> = {
  data_wait: pair("#e86c26", "#dd7f45"),
  transfer: pair("#e1b126", "#fec717"),
  forward: pair("#2491f1", "#3e90db"),
  backward: pair("#044990", "#3553b9"),
  optimizer: pair("#1e8386", "#0bb8bd"),
  lr_scheduler: pair("#5fc1e3", "#89e6ff"),
  callbacks: pair("#db3372", "#cf4369"),
  logging: pair("#8755b4", "#b6a3fe"),
  validation: pair("#83c083", "#b0f39e"),
  checkpoint: pair("#983206", "#9d3812"),
  loader_start: pair("#ae8a5f", "#d4a867"),
  profiler: pair("#2f3a44", "#4d7991"),
  other: pair("#8d9aa6", "#cbcbcb"),
  user_0: pair("#1c4dac", "#394fc0"),
  user_1: pair("#a86809", "#b77c0c"),
  user_2: pair("#0bb280", "#01d693"),
  user_3: pair("#a073f0", "#bf91ff"),
  user_4: pair("#ccb318", "#fcdf31"),
  user_5: pair("#b92359", "#af203a"),
  user_6: pair("#2c85ab", "#4093a9"),
  user_7: pair("#99bdc6", "#bbe6fa"),
};

const UNKNOWN_STAGE = pair("#8d9aa6", "#cbcbcb");

export function stageColor(colorKey: string, theme: ThemeName): string {
  return (STAGE_COLORS[colorKey] ?? UNKNOWN_STAGE)[theme];
}

/** Colours of a profile's categories, idle causes and kinds of events. What means the same as a stage has its colour. */
export const PART_COLORS: Readonly<Record<string, Pair>> = {
  kernel: pair("#27a25e", "#37c27f"),
  memcpy: pair("#e1b126", "#fec717"),
  memset: pair("#8a6d3b", "#a48b79"),
  communication: pair("#c36bca", "#e486df"),
  runtime: pair("#7d53b4", "#9170e7"),
  data_loading: pair("#e86c26", "#dd7f45"),
  cpu_op: pair("#2971e3", "#528bbd"),
  other: pair("#8d9aa6", "#cbcbcb"),
  synchronisation: pair("#983206", "#a03b14"),
  annotation: pair("#5fc1e3", "#89e6ff"),
  python: pair("#044990", "#3554ba"),
};

export function partColor(colorKey: string, theme: ThemeName): string {
  return (PART_COLORS[colorKey] ?? UNKNOWN_STAGE)[theme];
}

/** TensorBoard's own run colours, in its order. */
const RUN_COLORS: readonly Pair[] = [
  pair("#425066", "#8e98a3"),
  pair("#12b5cb", "#12b5cb"),
  pair("#e52592", "#e52592"),
  pair("#f9ab00", "#f9ab00"),
  pair("#9334e6", "#9334e6"),
  pair("#7cb342", "#7cb342"),
  pair("#e8710a", "#e8710a"),
];

export function runColor(index: number, theme: ThemeName): string {
  const colors = RUN_COLORS[index % RUN_COLORS.length] ?? UNKNOWN_STAGE;
  return colors[theme];
}

/** What a chart draws beside its data. Canvas takes no CSS variables, so these values are also set as variables. */
export interface ChartColors {
  text: string;
  muted: string;
  line: string;
  grid: string;
  surface: string;
  accent: string;
}

export const CHART_COLORS: Readonly<Record<ThemeName, ChartColors>> = {
  light: {
    text: "#202124",
    muted: "#5f6368",
    line: "#bdc1c6",
    grid: "#eceef1",
    surface: "#ffffff",
    accent: "#b34700",
  },
  dark: {
    text: "#e8eaed",
    muted: "#b3b8be",
    line: "#5f6368",
    grid: "#414141",
    surface: "#363636",
    accent: "#ffa54f",
  },
};
