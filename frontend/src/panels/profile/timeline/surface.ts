/** What the timeline is drawn on: a canvas in the page and for PNG, text for SVG. */

export interface TextStyle {
  color: string;
  size: number;
  bold?: boolean;
  align?: "left" | "right";
}

export interface Surface {
  rect: (x: number, y: number, width: number, height: number, color: string, opacity?: number) => void;
  frame: (x: number, y: number, width: number, height: number, color: string) => void;
  line: (points: readonly (readonly [number, number])[], color: string, dashed?: boolean) => void;
  /** Baseline in the middle of `y`. */
  text: (x: number, y: number, text: string, style: TextStyle) => void;
}

const FONT = 'Roboto, -apple-system, "Segoe UI", "Liberation Sans", Arial, system-ui, sans-serif';
export const fontOf = ({ size, bold = false }: TextStyle): string => `${bold ? 600 : 400} ${size}px ${FONT}`;

export class CanvasSurface implements Surface {
  private readonly context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D) {
    this.context = context;
    context.textBaseline = "middle";
  }

  rect(x: number, y: number, width: number, height: number, color: string, opacity = 1): void {
    this.context.globalAlpha = opacity;
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  frame(x: number, y: number, width: number, height: number, color: string): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = 2;
    this.context.strokeRect(x, y, width, height);
  }

  line(points: readonly (readonly [number, number])[], color: string, dashed = false): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = 1;
    this.context.setLineDash(dashed ? [3, 3] : []);
    this.context.beginPath();
    for (const [index, [x, y]] of points.entries()) {
      if (index === 0) this.context.moveTo(x, y);
      else this.context.lineTo(x, y);
    }
    this.context.stroke();
    this.context.setLineDash([]);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const font = fontOf(style);
    // Setting a font costs far more than comparing it.
    if (this.context.font !== font) this.context.font = font;
    this.context.fillStyle = style.color;
    this.context.textAlign = style.align ?? "left";
    this.context.fillText(text, x, y);
  }
}

const escaped = (text: string): string =>
  text
    // Characters that XML does not allow, escaped or not.
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");

const short = (value: number): string => String(Math.round(value * 100) / 100);

export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  rect(x: number, y: number, width: number, height: number, color: string, opacity = 1): void {
    const pale = opacity < 1 ? ` fill-opacity="${opacity}"` : "";
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${color}"${pale}/>`,
    );
  }

  frame(x: number, y: number, width: number, height: number, color: string): void {
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="none" stroke="${color}" stroke-width="2"/>`,
    );
  }

  line(points: readonly (readonly [number, number])[], color: string, dashed = false): void {
    const path = points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ");
    this.parts.push(
      `<polyline points="${path}" fill="none" stroke="${color}"${dashed ? ' stroke-dasharray="3 3"' : ""}/>`,
    );
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const anchor = style.align === "right" ? ' text-anchor="end"' : "";
    const weight = style.bold ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${style.size}" fill="${style.color}" dominant-baseline="central"${anchor}${weight}>${escaped(text)}</text>`,
    );
  }

  toText(width: number, height: number): string {
    const font = FONT.replace(/"/g, "'");
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${font}">${this.parts.join("")}</svg>`;
  }
}
