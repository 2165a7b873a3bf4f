/** Whether anyone can see us: TensorBoard keeps a plugin's frame alive, squeezed to nothing, behind other tabs. */

import { type ReadonlySignal, computed, signal } from "@preact/signals";

const pageShown = signal(!document.hidden);
const onScreen = signal(true);
const hasArea = signal(true);

export const visible: ReadonlySignal<boolean> = computed(() => pageShown.value && onScreen.value && hasArea.value);

export function followVisibility(root: Element): void {
  document.addEventListener("visibilitychange", () => {
    pageShown.value = !document.hidden;
  });
  new IntersectionObserver((entries) => {
    const last = entries[entries.length - 1];
    if (last) onScreen.value = last.isIntersecting;
  }).observe(root);
  // An element squeezed to nothing still counts as intersecting where it lies.
  new ResizeObserver(() => {
    hasArea.value = root.clientWidth > 0 && root.clientHeight > 0;
  }).observe(root);
}
