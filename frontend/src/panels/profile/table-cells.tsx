/** Cells that the panel's tables share. */

import type { ComponentChildren } from "preact";
import { count, microseconds, plural, share } from "../../format/number";
import { MiddleText } from "../../ui/middle-text";

/** A time and its share of `whole`, aligned over the rows. */
export function TimeAndShare({ time, whole }: { time: number | null; whole: number }) {
  if (time === null) return <span class="missing">not measured</span>;
  return (
    <span class="with-share">
      <span>{microseconds(time)}</span>
      <span class="amount">{whole > 0 ? share(time / whole) : ""}</span>
    </span>
  );
}

interface OpenerProps {
  /** null: there is nothing to open. */
  open: boolean | null;
  onToggle: () => void;
  /** Levels of indentation. */
  depth?: number;
  text: string;
}

/** A row's name, with a button before it that opens the row. */
export function Opener({ open, onToggle, depth = 0, text }: OpenerProps) {
  return (
    <span class="opener" style={depth > 0 ? { paddingLeft: `${depth * 14}px` } : undefined}>
      {open === null ? (
        <span class="opener-gap" />
      ) : (
        <button
          type="button"
          class="opener-button"
          aria-expanded={open}
          aria-label={`Details of ${text}`}
          onClick={onToggle}
        >
          <span aria-hidden="true">{open ? "▾" : "▸"}</span>
        </button>
      )}
      <MiddleText text={text} />
    </span>
  );
}

interface ToolsProps {
  /** What is filtered: one of it, and many. */
  what: readonly [one: string, many: string];
  filter: string;
  error: string | null;
  onFilter: (filter: string) => void;
  shown: number;
  total: number;
  children?: ComponentChildren;
}

/** Filter and choices above a table. */
export function TableTools({ what, filter, error, onFilter, shown, total, children }: ToolsProps) {
  const [one, many] = what;
  return (
    <div class="toolbar" role="group" aria-label={`Choices of ${many}`}>
      {children}
      <span class="filter">
        <input
          class="text-field"
          type="search"
          placeholder={`Filter ${many} (regex)`}
          aria-label={`Filter ${many} (regex)`}
          aria-invalid={error !== null}
          value={filter}
          onInput={(event) => onFilter(event.currentTarget.value)}
        />
      </span>
      <span class="window" role="status">
        {shown === total ? plural(total, one, many) : `${count(shown)} of ${plural(total, one, many)}`}
      </span>
      {error && <span class="field-error">{error}</span>}
    </div>
  );
}
