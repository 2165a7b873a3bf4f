/** A square of colour beside the name it stands for; never shown without that name. */
export function Swatch({ color, round = false }: { color: string; round?: boolean }) {
  return (
    <span class={round ? "swatch swatch-round" : "swatch"} style={{ backgroundColor: color }} aria-hidden="true" />
  );
}
