/** Light or dark, as TensorBoard shows itself at the moment, else as the system prefers. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { host } from "./frame";

export type ThemeName = "light" | "dark";

const current = signal<ThemeName>("light");
export const theme: ReadonlySignal<ThemeName> = current;

export function followTheme(): void {
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  const body = host?.document.body ?? null;
  const read = (): void => {
    const dark = body ? body.classList.contains("dark-mode") : preference.matches;
    current.value = dark ? "dark" : "light";
    document.documentElement.dataset["theme"] = current.value;
  };
  if (body) new MutationObserver(read).observe(body, { attributes: true, attributeFilter: ["class"] });
  else preference.addEventListener("change", read);
  read();
}
