/** The charts of a card, so that the card can save them as images. */

import { createContext } from "preact";
import { download, fileName } from "../format/file";

export type ImageFormat = "png" | "svg";

export interface Drawing {
  /** What tells this chart from the card's others: the run, as a rule. */
  name: string;
  toImage: (format: ImageFormat, title: string) => Promise<Blob>;
}

export class ChartShelf {
  private readonly drawings = new Set<Drawing>();

  /** Returns the function that takes the drawing off again. */
  add(drawing: Drawing): () => void {
    this.drawings.add(drawing);
    return () => this.drawings.delete(drawing);
  }

  async save(format: ImageFormat, card: string): Promise<void> {
    for (const drawing of this.drawings) {
      download(
        `${fileName(card.toLowerCase(), drawing.name)}.${format}`,
        await drawing.toImage(format, `${card}: ${drawing.name}`),
      );
    }
  }
}

export const ShelfContext = createContext<ChartShelf | null>(null);
