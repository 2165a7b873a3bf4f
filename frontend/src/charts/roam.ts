/** Alt + wheel zooms about the pointer, Shift + drag moves the window. The bare wheel still scrolls the page. */

import type { EChartsType } from "echarts/core";
import { type Window, moveWindow, scaleWindow } from "./window";

const X_AXIS = { xAxisIndex: 0 };
/** Width after one notch of the wheel. */
const NOTCH = 0.8;

export interface Roaming {
  /** What the chart shows now, which runs ahead of the state while a gesture lasts. */
  shown: () => Window | null;
  full: () => Window | null;
}

/** Listens on `box`, which holds `chart`. Returns the function that stops it. */
export function roam(box: HTMLElement, chart: EChartsType, { shown, full }: Roaming): () => void {
  let grabbed: number | null = null;
  const at = (event: MouseEvent): number =>
    Number(chart.convertFromPixel(X_AXIS, event.clientX - box.getBoundingClientRect().left));
  const show = ({ from, to }: Window): void => {
    chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue: from, endValue: to });
  };

  const onWheel = (event: WheelEvent): void => {
    const [window, whole] = [shown(), full()];
    if (!event.altKey || !window || !whole || event.deltaY === 0) return;
    event.preventDefault();
    show(scaleWindow(window, whole, at(event), event.deltaY < 0 ? NOTCH : 1 / NOTCH));
  };
  const onDown = (event: PointerEvent): void => {
    if (event.button !== 0 || !event.shiftKey || !full()) return;
    grabbed = at(event);
    box.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent): void => {
    const [window, whole] = [shown(), full()];
    if (grabbed === null || !window || !whole) return;
    // The axis moves with the hand: what was grabbed stays under the pointer.
    show(moveWindow(window, whole, grabbed - at(event)));
  };
  const onUp = (): void => {
    grabbed = null;
  };

  box.addEventListener("wheel", onWheel, { passive: false });
  box.addEventListener("pointerdown", onDown);
  box.addEventListener("pointermove", onMove);
  box.addEventListener("pointerup", onUp);
  box.addEventListener("pointercancel", onUp);
  return () => {
    box.removeEventListener("wheel", onWheel);
    box.removeEventListener("pointerdown", onDown);
    box.removeEventListener("pointermove", onMove);
    box.removeEventListener("pointerup", onUp);
    box.removeEventListener("pointercancel", onUp);
  };
}
