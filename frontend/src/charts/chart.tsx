/** One ECharts chart in the page: its life, size and colours, zoom by mouse and keys, and a cursor that can be heard. */

import type { EChartsType } from "echarts/core";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { theme } from "../host/theme";
import { visible } from "../host/visibility";
import { CHART_COLORS } from "../theme/palette";
import { dragZoom } from "./drag-zoom";
import { chartImage } from "./image";
import { moveCursor, nearestIndex, zoomByKey } from "./keys";
import { loadECharts } from "./lazy";
import type { ChartOption } from "./option";
import { roam } from "./roam";
import { ShelfContext } from "./shelf";
import type { Window } from "./window";

/** Where the cursor stops: a place on an axis, or one item of a series. */
export type CursorItem = { axis: "x" | "y"; at: number } | { seriesIndex: number; dataIndex: number };

export interface ChartCursor {
  items: readonly CursorItem[];
  /** The values at an item, as a sentence. */
  describe: (index: number) => string;
}

export interface ChartZoom {
  window: Window;
  full: Window;
  set: (window: Window) => void;
  reset: () => void;
}

interface Props {
  /** Part of the file name and of the exported image's title. */
  name: string;
  /** What the chart shows, for those who cannot see it. */
  label: string;
  height: number;
  option: ChartOption;
  cursor?: ChartCursor | undefined;
  zoom?: ChartZoom | undefined;
  /** A click, or Enter at the cursor, chooses one of the cursor's items. */
  onPick?: ((index: number) => void) | undefined;
}

/** Dragging the slider fires at each move; the server is asked once the hand rests. */
const ZOOM_SETTLES_MS = 250;

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [failure, setFailure] = useState<string | null>(null);
  const [drawn, setDrawn] = useState(false);
  const [readout, setReadout] = useState("");
  /** Where the cursor is, or null. A place and not an index: it stays when zooming brings other items. */
  const place = useRef<number | null>(null);
  const shelf = useContext(ShelfContext);
  const helpId = useId();

  useEffect(() => create(box, chart, setDrawn, setFailure), []);

  useEffect(() => {
    if (!drawn) return;
    chart.current?.setOption(props.option, { notMerge: true, lazyUpdate: true });
  }, [drawn, props.option]);

  useEffect(() => setReadout(""), [props.option]);

  useEffect(() => {
    const instance = chart.current;
    const element = box.current;
    if (!drawn || !instance || !element) return undefined;
    return connectZoom(instance, element, chart, () => latest.current.zoom);
  }, [drawn]);

  useEffect(() => {
    return shelf?.add({
      name: props.name,
      toImage: (format, title) => {
        const { option, height } = latest.current;
        const width = box.current?.clientWidth ?? 0;
        return chartImage(format, option, title, { width, height }, CHART_COLORS[theme.peek()]);
      },
    });
  }, [shelf, props.name]);

  const onClick = (event: MouseEvent): void => {
    const { cursor: items, onPick } = latest.current;
    const index = items && chart.current && box.current ? itemAt(chart.current, box.current, items, event) : null;
    if (index !== null) onPick?.(index);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { cursor: items, zoom, onPick } = latest.current;
    if (event.key === "Escape") {
      chart.current?.dispatchAction({ type: "hideTip" });
      return;
    }
    if (event.key === "0" && zoom) {
      event.preventDefault();
      zoom.reset();
      return;
    }
    const places = items?.items.map((item, index) => ("at" in item ? item.at : index)) ?? [];
    if (onPick && (event.key === "Enter" || event.key === " ")) {
      const index = nearestIndex(places, place.current);
      event.preventDefault();
      if (index !== null) onPick(index);
      return;
    }
    const moved = moveCursor(event.key, event.shiftKey, nearestIndex(places, place.current), places.length);
    const item = moved === null ? undefined : items?.items[moved];
    if (items && moved !== null && item) {
      event.preventDefault();
      place.current = places[moved] ?? null;
      showTip(chart.current, item);
      setReadout(items.describe(moved));
      return;
    }
    if (!zoom) return;
    const { from, to } = zoom.window;
    const inside = place.current !== null && place.current >= from && place.current <= to;
    const next = zoomByKey(event.key, zoom.window, zoom.full, inside ? (place.current ?? from) : (from + to) / 2);
    if (!next) return;
    event.preventDefault();
    zoom.set(next);
  };

  if (failure !== null) {
    return (
      <div class="state state-failure" role="alert" style={{ minHeight: `${props.height}px` }}>
        The chart could not be drawn: {failure} The table shows the same numbers.
      </div>
    );
  }
  const interactive = props.cursor !== undefined || props.zoom !== undefined;
  return (
    <div class="chart-frame">
      <div
        class={props.onPick ? "chart chart-pick" : "chart"}
        ref={box}
        style={{ height: `${props.height}px` }}
        tabIndex={interactive ? 0 : undefined}
        role={interactive ? "application" : "img"}
        aria-roledescription={interactive ? "chart" : undefined}
        aria-label={props.label}
        aria-describedby={interactive ? helpId : undefined}
        onKeyDown={interactive ? onKeyDown : undefined}
        onClick={props.onPick ? onClick : undefined}
        onBlur={() => chart.current?.dispatchAction({ type: "hideTip" })}
      />
      {interactive && (
        <>
          <p class="visually-hidden" id={helpId}>
            {props.cursor && "Arrow keys move the cursor, Home and End go to the ends. "}
            {props.onPick && "Enter chooses what is at the cursor. "}
            {props.zoom && "Plus and minus zoom, 0 shows everything."}
          </p>
          <p class="visually-hidden" aria-live="polite">
            {readout}
          </p>
        </>
      )}
    </div>
  );
}

/** The cursor's item that was clicked on; null beside the plot. */
function itemAt(chart: EChartsType, box: HTMLElement, { items }: ChartCursor, event: MouseEvent): number | null {
  const edge = box.getBoundingClientRect();
  const [x, y] = [event.clientX - edge.left, event.clientY - edge.top];
  if (!chart.containPixel({ gridIndex: 0 }, [x, y])) return null;
  const along = items.map((item) => {
    if (!("at" in item)) return Infinity;
    const at = Number(chart.convertToPixel(item.axis === "x" ? { xAxisIndex: 0 } : { yAxisIndex: 0 }, item.at));
    return Math.abs(at - (item.axis === "x" ? x : y));
  });
  return nearestIndex(along, 0);
}

function showTip(chart: EChartsType | null, item: CursorItem): void {
  if (!chart) return;
  if (!("at" in item)) {
    chart.dispatchAction({ type: "showTip", seriesIndex: item.seriesIndex, dataIndex: item.dataIndex });
    return;
  }
  // By place and not by item: the lines of one chart need not have their points at the same places.
  const along = Number(chart.convertToPixel(item.axis === "x" ? { xAxisIndex: 0 } : { yAxisIndex: 0 }, item.at));
  const [x, y] = item.axis === "x" ? [along, chart.getHeight() / 3] : [chart.getWidth() / 2, along];
  chart.dispatchAction({ type: "showTip", x, y });
}

/** Creates the chart once its box is near the screen and has a size; follows that size. Returns the clean-up. */
function create(
  box: { current: HTMLDivElement | null },
  chart: { current: EChartsType | null },
  setDrawn: (drawn: boolean) => void,
  setFailure: (message: string) => void,
): () => void {
  let gone = false;
  let near = false;
  let pending = false;
  const size = (): void => {
    const element = box.current;
    // Behind another tab the frame has no height; drawing then would leave a tiny chart.
    if (gone || !element || element.clientWidth === 0 || !visible.peek()) return;
    if (chart.current) {
      chart.current.resize();
      return;
    }
    if (!near || pending) return;
    pending = true;
    loadECharts()
      .then(({ init }) => {
        if (gone || !box.current) return;
        chart.current = init(box.current, null, { renderer: "canvas" });
        setDrawn(true);
      })
      .catch((error: unknown) => {
        if (!gone) setFailure(error instanceof Error ? `${error.message}.` : "unknown error.");
      });
  };
  const resizes = new ResizeObserver(size);
  const approach = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near = true;
      approach.disconnect();
      size();
    },
    { rootMargin: "300px" },
  );
  if (box.current) {
    resizes.observe(box.current);
    approach.observe(box.current);
  }
  const stopWatching = visible.subscribe(size);
  return () => {
    gone = true;
    stopWatching();
    resizes.disconnect();
    approach.disconnect();
    chart.current?.dispose();
    chart.current = null;
  };
}

/** Slider, wheel, drag and double click, all to `zoom`. */
function connectZoom(
  instance: EChartsType,
  element: HTMLElement,
  chart: { current: EChartsType | null },
  zoom: () => ChartZoom | undefined,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const window = zoomedWindow(instance);
      if (window && !instance.isDisposed()) zoom()?.set(window);
    }, ZOOM_SETTLES_MS);
  };
  instance.on("datazoom", settle);
  const onDoubleClick = (): void => zoom()?.reset();
  element.addEventListener("dblclick", onDoubleClick);
  const stopDragging = dragZoom(
    element,
    () => (zoom() ? chart.current : null),
    (from, to) => zoom()?.set({ from, to }),
  );
  const stopRoaming = roam(element, instance, {
    shown: () => zoomedWindow(instance),
    full: () => zoom()?.full ?? null,
  });
  return () => {
    clearTimeout(timer);
    stopDragging();
    stopRoaming();
    element.removeEventListener("dblclick", onDoubleClick);
  };
}

function zoomedWindow(instance: EChartsType): Window | null {
  const { dataZoom } = instance.getOption() as { dataZoom?: { startValue?: unknown; endValue?: unknown }[] };
  const first = dataZoom?.[0];
  const [from, to] = [Number(first?.startValue), Number(first?.endValue)];
  return Number.isFinite(from) && Number.isFinite(to) ? { from, to } : null;
}
