/** The timeline's canvases: draws when something changes, and turns pointer and wheel into changes. */

import { effect } from "@preact/signals";
import { type Layout, layoutLanes, rowAtHeight, rowTop } from "./layout";
import { eventAt } from "./model";
import { type Look, RULER_HEIGHT, SceneDrawer, type SceneState, drawOverview } from "./scene";
import type { TimelineState } from "./state";
import { CanvasSurface, fontOf } from "./surface";

export const OVERVIEW_HEIGHT = 26;
const HEAD_HEIGHT = OVERVIEW_HEIGHT + RULER_HEIGHT;
/** Width after one notch of the wheel. */
const NOTCH = 0.8;
/** Shorter drags are clicks with a shaky hand. */
const SMALLEST_DRAG_PX = 5;
/** How far beside an event a click still hits it. */
const REACH_PX = 1.5;

export interface Elements {
  /** Overview and ruler. */
  head: HTMLCanvasElement;
  /** Scrolls the lanes. */
  scroller: HTMLElement;
  /** In the scroller, as large as its sight. */
  lanes: HTMLCanvasElement;
}

export interface Hover {
  event: number;
  /** Pixels from the left of the lanes, and from the top of what is in sight of them. */
  x: number;
  y: number;
}

type Drag = { kind: "zoom"; from: number; to: number } | { kind: "move"; x: number; scroll: number; y: number };

/** Fits a canvas to its size on the screen; returns what draws on it, cleared. */
function fresh(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

export class TimelineView {
  private readonly state: TimelineState;
  private readonly elements: Elements;
  private readonly onHover: (hover: Hover | null) => void;
  private readonly drawer: SceneDrawer;
  private readonly stops: (() => void)[] = [];
  private look: Look;
  private layout: Layout;
  private hovered: number | null = null;
  private drag: Drag | null = null;
  private frame: number | null = null;
  /** The overview, drawn once. */
  private overview: HTMLCanvasElement | null = null;
  /** Where the pointer is, in time: what the keys zoom about. */
  private pointerTime: number | null = null;

  constructor(state: TimelineState, elements: Elements, look: Look, onHover: (hover: Hover | null) => void) {
    this.state = state;
    this.elements = elements;
    this.look = look;
    this.onHover = onHover;
    this.layout = layoutLanes(state.timeline.lanes, state.folded.peek());
    this.drawer = new SceneDrawer(state.timeline, measurer(elements.lanes));
    this.listen();
    let revealed = state.reveal.peek();
    this.stops.push(
      effect(() => {
        this.layout = layoutLanes(state.timeline.lanes, state.folded.value);
        // Read here so that a change of any draws again.
        void [state.window.value, state.selected.value, state.hits.value];
        if (state.reveal.value !== revealed) {
          revealed = state.reveal.value;
          this.scrollToSelected();
        }
        this.draw();
      }),
    );
  }

  setLook(look: Look): void {
    this.look = look;
    this.overview = null;
    this.draw();
  }

  stop(): void {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    for (const stop of this.stops) stop();
  }

  /** Time under the pointer; null when it is elsewhere. */
  get pointedTime(): number | null {
    return this.pointerTime;
  }

  private draw(): void {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.drawNow();
    });
  }

  private get width(): number {
    return this.elements.scroller.clientWidth;
  }

  private drawNow(): void {
    const { head, scroller, lanes } = this.elements;
    const { clientWidth: width, clientHeight: height, scrollTop } = scroller;
    // Behind another tab there is no size.
    if (width === 0 || height === 0) return;
    const scene = this.scene();
    const lanesContext = fresh(lanes, width, height);
    if (lanesContext) {
      const surface = new CanvasSurface(lanesContext);
      this.drawer.lanes(surface, 0, width, this.layout, scrollTop, scrollTop + height, scene, this.look);
      if (this.drag?.kind === "zoom") {
        const [from, to] = [Math.min(this.drag.from, this.drag.to), Math.max(this.drag.from, this.drag.to)];
        surface.rect(from, 0, to - from, height, this.look.colors.accent, 0.2);
      }
    }
    const headContext = fresh(head, width, HEAD_HEIGHT);
    if (headContext) this.drawHead(headContext, width, scene);
  }

  private scene(): SceneState {
    const { window, selected, hits } = this.state;
    return {
      window: window.peek(),
      selected: selected.peek(),
      hovered: this.hovered,
      isHit: hits.peek()?.isHit ?? null,
    };
  }

  private drawHead(context: CanvasRenderingContext2D, width: number, scene: SceneState): void {
    const surface = new CanvasSurface(context);
    const { full } = this.state.timeline;
    context.drawImage(this.overviewOf(width), 0, 0, width, OVERVIEW_HEIGHT);
    const scale = width / (full.to - full.from);
    const [left, right] = [(scene.window.from - full.from) * scale, (scene.window.to - full.from) * scale];
    const { surface: paper, accent } = this.look.colors;
    surface.rect(0, 0, left, OVERVIEW_HEIGHT, paper, 0.7);
    surface.rect(right, 0, width - right, OVERVIEW_HEIGHT, paper, 0.7);
    surface.frame(left + 1, 1, Math.max(2, right - left - 2), OVERVIEW_HEIGHT - 2, accent);
    this.drawer.ruler(surface, OVERVIEW_HEIGHT, width, scene, this.look);
  }

  private overviewOf(width: number): HTMLCanvasElement {
    if (this.overview?.width !== width) {
      this.overview = document.createElement("canvas");
      this.overview.width = width;
      this.overview.height = OVERVIEW_HEIGHT;
      const context = this.overview.getContext("2d");
      if (context) drawOverview(new CanvasSurface(context), this.state.timeline, width, OVERVIEW_HEIGHT, this.look);
    }
    return this.overview;
  }

  private scrollToSelected(): void {
    const event = this.state.selected.peek();
    if (event === null) return;
    const { scroller } = this.elements;
    const top = rowTop(this.layout, this.state.timeline.lane[event] ?? 0, this.state.timeline.row[event] ?? 0);
    const margin = 40;
    if (top < scroller.scrollTop + margin || top > scroller.scrollTop + scroller.clientHeight - margin) {
      // The content may only now become as high as its lanes.
      requestAnimationFrame(() => {
        scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 2);
      });
    }
  }

  private timeAt(x: number): number {
    const { from, to } = this.state.window.peek();
    return from + ((to - from) * x) / Math.max(1, this.width);
  }

  private eventUnder(x: number, y: number): number {
    const at = rowAtHeight(this.layout, y + this.elements.scroller.scrollTop);
    if (!at) return -1;
    const { from, to } = this.state.window.peek();
    return eventAt(
      this.state.timeline,
      at.lane,
      at.row,
      this.timeAt(x),
      (REACH_PX * (to - from)) / Math.max(1, this.width),
    );
  }

  private listen(): void {
    const { head, scroller, lanes } = this.elements;
    const on = <Type extends keyof HTMLElementEventMap>(
      element: HTMLElement,
      type: Type,
      listener: (event: HTMLElementEventMap[Type]) => void,
      options?: AddEventListenerOptions,
    ): void => {
      element.addEventListener(type, listener, options);
      this.stops.push(() => element.removeEventListener(type, listener, options));
    };
    on(lanes, "pointerdown", (event) => this.onDown(event));
    on(lanes, "pointermove", (event) => this.onMove(event));
    on(lanes, "pointerup", (event) => this.onUp(event));
    on(lanes, "pointercancel", () => this.endDrag());
    on(lanes, "pointerleave", () => this.hover(null));
    on(lanes, "dblclick", () => this.state.reset());
    on(lanes, "wheel", (event) => this.onWheel(event), { passive: false });
    on(head, "wheel", (event) => this.onWheel(event), { passive: false });
    on(scroller, "scroll", () => this.draw(), { passive: true });
    const center = (event: PointerEvent): void =>
      this.centerOverview(event.clientX - head.getBoundingClientRect().left);
    on(head, "pointerdown", (event) => {
      if (event.button !== 0) return;
      head.setPointerCapture(event.pointerId);
      center(event);
    });
    on(head, "pointermove", (event) => {
      if (event.buttons === 1) center(event);
    });
    on(head, "dblclick", () => this.state.reset());
    const resizes = new ResizeObserver(() => this.draw());
    resizes.observe(scroller);
    this.stops.push(() => resizes.disconnect());
  }

  private centerOverview(x: number): void {
    const { full } = this.state.timeline;
    const { from, to } = this.state.window.peek();
    const middle = full.from + ((full.to - full.from) * x) / Math.max(1, this.width);
    this.state.show({ from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
  }

  private place(event: MouseEvent): [number, number] {
    const edge = this.elements.lanes.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0 || event.altKey || event.pointerType === "touch") return;
    const [x, y] = this.place(event);
    this.drag = event.shiftKey
      ? { kind: "move", x, y, scroll: this.elements.scroller.scrollTop }
      : { kind: "zoom", from: x, to: x };
    this.elements.lanes.setPointerCapture(event.pointerId);
  }

  private onMove(event: PointerEvent): void {
    const [x, y] = this.place(event);
    const { drag } = this;
    if (drag === null) {
      this.hover({ event: this.eventUnder(x, y), x, y });
      return;
    }
    this.hover(null);
    if (drag.kind === "zoom") {
      drag.to = x;
      this.draw();
      return;
    }
    const { from, to } = this.state.window.peek();
    const distance = ((drag.x - x) * (to - from)) / Math.max(1, this.width);
    this.state.show({ from: from + distance, to: to + distance });
    drag.x = x;
    this.elements.scroller.scrollTop = drag.scroll + drag.y - y;
  }

  private onUp(event: PointerEvent): void {
    const [x, y] = this.place(event);
    const { drag } = this;
    this.endDrag();
    if (drag?.kind === "zoom" && Math.abs(drag.to - drag.from) >= SMALLEST_DRAG_PX) {
      const [left, right] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      this.state.show({ from: this.timeAt(left), to: this.timeAt(right) });
      return;
    }
    if (drag?.kind === "move" || event.button !== 0) return;
    const hit = this.eventUnder(x, y);
    this.state.select(hit >= 0 ? hit : null);
  }

  private endDrag(): void {
    this.drag = null;
    this.draw();
  }

  private hover(hover: Hover | null): void {
    this.pointerTime = hover ? this.timeAt(hover.x) : null;
    const event = hover && hover.event >= 0 ? hover.event : null;
    this.onHover(hover && hover.event >= 0 ? hover : null);
    if (event === this.hovered) return;
    this.hovered = event;
    this.draw();
  }

  private onWheel(event: WheelEvent): void {
    if (event.altKey && event.deltaY !== 0) {
      event.preventDefault();
      const [x] = this.place(event);
      this.state.zoom(event.deltaY < 0 ? NOTCH : 1 / NOTCH, this.timeAt(x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.state.pan((event.deltaX || event.deltaY) / Math.max(1, this.width));
    }
  }
}

/** Width of a label in the page's font. */
export function measurer(canvas: HTMLCanvasElement): (text: string) => number {
  const context = canvas.getContext("2d");
  const font = fontOf({ color: "", size: 11 });
  return (text) => {
    if (!context) return 6 * text.length;
    if (context.font !== font) context.font = font;
    return context.measureText(text).width;
  };
}
