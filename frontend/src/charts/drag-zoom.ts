/** Drag a box over a chart to zoom in. Only its width counts: the y axis fits itself. */

import type { EChartsType } from "echarts/core";

/** Shorter drags are clicks with a shaky hand. */
const SMALLEST_DRAG_PX = 6;

const X_AXIS = { xAxisIndex: 0 };

/** Listens on `box`, which holds the chart. Returns the function that stops it. */
export function dragZoom(
  box: HTMLElement,
  chart: () => EChartsType | null,
  onWindow: (from: number, to: number) => void,
): () => void {
  const band = document.createElement("div");
  band.className = "zoom-band";
  let start: number | null = null;

  const position = (event: PointerEvent): number => event.clientX - box.getBoundingClientRect().left;
  const draw = (from: number, to: number): void => {
    band.style.left = `${Math.min(from, to)}px`;
    band.style.width = `${Math.abs(to - from)}px`;
  };
  const stop = (): void => {
    start = null;
    band.remove();
  };

  const onDown = (event: PointerEvent): void => {
    // Shift and Alt belong to moving and to the wheel.
    if (event.button !== 0 || event.shiftKey || event.altKey || event.pointerType === "touch") return;
    const edge = box.getBoundingClientRect();
    const point = [event.clientX - edge.left, event.clientY - edge.top];
    if (!chart()?.containPixel({ gridIndex: 0 }, point)) return;
    start = position(event);
    box.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent): void => {
    if (start === null) return;
    const now = position(event);
    if (!band.isConnected && Math.abs(now - start) >= SMALLEST_DRAG_PX) box.append(band);
    draw(start, now);
  };
  const onUp = (event: PointerEvent): void => {
    if (start === null) return;
    const [from, to] = [start, position(event)];
    const dragged = band.isConnected;
    stop();
    const shown = chart();
    if (!dragged || !shown) return;
    const values = [from, to].map((pixel) => Number(shown.convertFromPixel(X_AXIS, pixel)));
    onWindow(Math.min(...values), Math.max(...values));
  };

  box.addEventListener("pointerdown", onDown);
  box.addEventListener("pointermove", onMove);
  box.addEventListener("pointerup", onUp);
  box.addEventListener("pointercancel", stop);
  return () => {
    box.removeEventListener("pointerdown", onDown);
    box.removeEventListener("pointermove", onMove);
    box.removeEventListener("pointerup", onUp);
    box.removeEventListener("pointercancel", stop);
    stop();
  };
}
