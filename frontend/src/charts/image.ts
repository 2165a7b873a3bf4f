/** A chart as a file: drawn anew with a title and a legend, so that it can stand alone. */

import type { ChartColors } from "../theme/palette";
import { loadECharts } from "./lazy";
import type { ChartOption } from "./option";
import type { ImageFormat } from "./shelf";

const HEADER_HEIGHT = 64;

function standAlone(option: ChartOption, title: string, colors: ChartColors): ChartOption {
  const [zoom] = Array.isArray(option.dataZoom) ? option.dataZoom : [];
  const { xAxis } = option;
  const legend = option.legend === undefined ? { type: "scroll" as const } : option.legend;
  return {
    ...option,
    backgroundColor: colors.surface,
    title: { text: title, left: 12, top: 8, textStyle: { fontSize: 14, fontWeight: 600, color: colors.text } },
    legend: {
      ...(Array.isArray(legend) ? {} : legend),
      show: true,
      left: 12,
      top: 32,
      itemWidth: 12,
      itemHeight: 12,
      textStyle: { color: colors.text },
    },
    grid: { ...option.grid, top: option.grid.top + HEADER_HEIGHT },
    // The window stays, the slider means nothing on paper.
    dataZoom: [],
    ...(zoom && !Array.isArray(xAxis) ? { xAxis: { ...xAxis, ...windowOf(zoom) } } : {}),
  };
}

const windowOf = ({ startValue, endValue }: { startValue?: unknown; endValue?: unknown }) => ({
  min: Number(startValue),
  max: Number(endValue),
});

export async function chartImage(
  format: ImageFormat,
  option: ChartOption,
  title: string,
  size: { width: number; height: number },
  colors: ChartColors,
): Promise<Blob> {
  const { init } = await loadECharts();
  const width = size.width;
  const height = size.height + HEADER_HEIGHT;
  const picture = standAlone(option, title, colors);
  if (format === "svg") {
    const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
    chart.setOption(picture);
    const text = chart.renderToSVGString();
    chart.dispose();
    return new Blob([text], { type: "image/svg+xml" });
  }
  const chart = init(document.createElement("div"), null, { renderer: "canvas", width, height, devicePixelRatio: 2 });
  chart.setOption(picture);
  const canvas = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: colors.surface });
  chart.dispose();
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not draw the image."))));
  });
}
