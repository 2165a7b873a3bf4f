/** The bar between sidebar and panel: drag it, or focus it and use the arrow keys. The width is remembered. */

import { useState } from "preact/hooks";
import { readPreference, writePreference } from "../state/preferences";

const NARROWEST = 180;
const WIDEST = 480;
const DEFAULT_WIDTH = 256;
const KEY_STRIDE = 16;

const clamp = (width: number): number => Math.min(WIDEST, Math.max(NARROWEST, Math.round(width)));

export function useSidebarWidth(): [number, (width: number) => void] {
  const [width, setWidth] = useState(() => clamp(Number(readPreference("sidebar")) || DEFAULT_WIDTH));
  const change = (next: number): void => {
    setWidth(clamp(next));
    writePreference("sidebar", String(clamp(next)));
  };
  return [width, change];
}

export function Resizer({ width, onChange }: { width: number; onChange: (width: number) => void }) {
  const onPointerDown = (event: PointerEvent): void => {
    const bar = event.currentTarget as HTMLElement;
    const offset = event.clientX - width;
    bar.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => onChange(moved.clientX - offset);
    const stop = (): void => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", stop);
      bar.removeEventListener("pointercancel", stop);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", stop);
    bar.addEventListener("pointercancel", stop);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const stride = event.key === "ArrowLeft" ? -KEY_STRIDE : event.key === "ArrowRight" ? KEY_STRIDE : 0;
    if (stride === 0) return;
    event.preventDefault();
    onChange(width + stride);
  };
  return (
    <div
      class="resizer"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the sidebar"
      aria-valuenow={width}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
