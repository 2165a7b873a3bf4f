/** Luminance and contrast, as WCAG 2 defines them. */

/** Linear red, green and blue in [0, 1] of "#rrggbb". */
export function linearRgb(color: string): [number, number, number] {
  const channel = (at: number): number => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

export function luminance(color: string): number {
  const [red, green, blue] = linearRgb(color);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const DARK_INK = "#1b1c1e";
const LIGHT_INK = "#ffffff";

/** The ink that reads better on `background`. */
export function inkOn(background: string): string {
  return contrast(background, DARK_INK) >= contrast(background, LIGHT_INK) ? DARK_INK : LIGHT_INK;
}
