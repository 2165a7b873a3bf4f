/** The timeline as a file: the window that is shown, all lanes, with a title and a legend. */

import type { ImageFormat } from "../../../charts/shelf";
import type { PaintedPart } from "../../../state/definitions";
import { TITLE_HEIGHT, layoutLanes } from "./layout";
import { type Look, RULER_HEIGHT, SceneDrawer } from "./scene";
import type { TimelineState } from "./state";
import { CanvasSurface, type Surface, SvgSurface } from "./surface";
import { measurer } from "./timeline-view";

const HEADER_HEIGHT = 64;
const MARGIN = 12;
/** Browsers draw no larger canvas. */
const LARGEST_PX = 16_000;

interface Settings {
  state: TimelineState;
  title: string;
  width: number;
  kinds: readonly PaintedPart[];
  look: Look;
}

export async function timelineImage(format: ImageFormat, settings: Settings): Promise<Blob> {
  const layout = layoutLanes(settings.state.timeline.lanes, settings.state.folded.peek());
  const width = settings.width;
  const height = HEADER_HEIGHT + RULER_HEIGHT + layout.height + MARGIN;
  const canvas = document.createElement("canvas");
  if (format === "svg") {
    const surface = new SvgSurface();
    paint(surface, width, height, settings, measurer(canvas));
    return new Blob([surface.toText(width, height)], { type: "image/svg+xml" });
  }
  const scale = Math.min(2, LARGEST_PX / Math.max(width, height));
  canvas.width = Math.floor(width * scale);
  canvas.height = Math.floor(height * scale);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser could not draw the image.");
  context.scale(scale, scale);
  paint(new CanvasSurface(context), width, height, settings, measurer(document.createElement("canvas")));
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not draw the image."))));
  });
}

function paint(
  surface: Surface,
  width: number,
  height: number,
  { state, title, kinds, look }: Settings,
  measure: (text: string) => number,
): void {
  const { colors } = look;
  const layout = layoutLanes(state.timeline.lanes, state.folded.peek());
  const scene = {
    window: state.window.peek(),
    selected: state.selected.peek(),
    hovered: null,
    isHit: state.hits.peek()?.isHit ?? null,
  };
  surface.rect(0, 0, width, height, colors.surface);
  surface.text(MARGIN, 18, title, { color: colors.text, size: 14, bold: true });
  let x = MARGIN;
  for (const { title: name, paint: color } of kinds) {
    surface.rect(x, 36, 12, 12, color);
    surface.text(x + 17, 42, name, { color: colors.text, size: 12 });
    x += 17 + 1.15 * measure(name) + 16;
  }
  const drawer = new SceneDrawer(state.timeline, measure);
  drawer.ruler(surface, HEADER_HEIGHT, width, scene, look);
  const top = HEADER_HEIGHT + RULER_HEIGHT;
  drawer.lanes(surface, top, width, layout, 0, layout.height, scene, look);
  for (const placed of layout.lanes) {
    const name = state.timeline.lanes[placed.lane]?.title ?? "";
    surface.text(4, top + placed.top + TITLE_HEIGHT / 2, name, { color: colors.text, size: 12, bold: true });
  }
}
