/** A table of any length: only the rows in sight are drawn. Sorts by column; a row can show more below itself. */

import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { NOT_MEASURED } from "../format/number";
import { type Column, cellContent } from "./data-table";
import { rowOffsets, rowsBetween } from "./row-window";
import { type Sort, nextSort } from "./sorting";

/** As in table.css. */
const ROW_HEIGHT = 27;
/** Rows drawn above and below those in sight, so that a quick scroll finds them there. */
const SPARE_ROWS = 12;
/** What is drawn before the table has a size. */
const FIRST_HEIGHT = 420;
/** Where columns without a width would get less than this, in pixels, the table scrolls sideways. */
const LEAST_WIDTH = 150;

export interface SortableColumn<Row> extends Column<Row> {
  /** Pixels; columns without a width share what is left. */
  width?: number;
}

export interface RowDetail {
  /** Pixels. */
  height: number;
  content: ComponentChildren;
}

interface Props<Row> {
  caption: string;
  columns: readonly SortableColumn<Row>[];
  /** In the order to show. */
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
  sort: Sort;
  onSort: (sort: Sort) => void;
  /** What an opened row shows below itself. */
  detail?: (row: Row) => RowDetail | null;
}

export function RowsTable<Row>({ caption, columns: all, rows, rowKey, sort, onSort, detail }: Props<Row>) {
  const columns = all.filter((column) => !column.fileOnly);
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: FIRST_HEIGHT });
  const details = useMemo(() => rows.map((row) => detail?.(row) ?? null), [rows, detail]);
  const offsets = useMemo(
    () => rowOffsets(rows.length, (index) => ROW_HEIGHT + (details[index]?.height ?? 0)),
    [rows, details],
  );
  const whole = offsets[rows.length] ?? 0;

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = (): void => {
      const { scrollTop: top, clientHeight } = element;
      const height = clientHeight || FIRST_HEIGHT;
      setSight((last) => (last.top === top && last.height === height ? last : { top, height }));
    };
    element.addEventListener("scroll", look, { passive: true });
    const resizes = new ResizeObserver(look);
    resizes.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      resizes.disconnect();
    };
  }, []);
  // Other rows or another order: back to the first.
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [sort, rows.length === 0]);

  const [first, last] = rowsBetween(offsets, Math.min(sight.top, whole), sight.top + sight.height, SPARE_ROWS);
  return (
    <div class="table-scroll rows-scroll" ref={box} tabIndex={0} role="group" aria-label={caption}>
      <table
        class="data-table rows-table"
        style={{ minWidth: `${leastWidth(columns)}px` }}
        aria-rowcount={rows.length + 1}
      >
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column.name} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <Gap height={offsets[first] ?? 0} />
        <tbody>
          {rows.slice(first, last).map((row, index) => {
            const place = first + index;
            const shown = details[place];
            const key = rowKey(row, place);
            return (
              <Fragment key={key}>
                <tr aria-rowindex={place + 2}>
                  {columns.map((column, position) => (
                    <Cell key={column.name} column={column} row={row} named={position === 0} />
                  ))}
                </tr>
                {shown && (
                  <tr class="row-detail">
                    <td colSpan={columns.length}>
                      <div style={{ height: `${shown.height - 1}px` }}>{shown.content}</div>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
        <Gap height={whole - (offsets[last] ?? 0)} />
      </table>
    </div>
  );
}

/** Of the columns that narrow tables show, too. */
function leastWidth<Row>(columns: readonly SortableColumn<Row>[]): number {
  return columns.reduce((sum, { wide, width }) => sum + (wide ? 0 : (width ?? LEAST_WIDTH)), 0);
}

function look<Row>(column: SortableColumn<Row>): string | undefined {
  return [column.numeric && "numeric", column.wide && "wide-only"].filter(Boolean).join(" ") || undefined;
}

/** Stands for the rows out of sight. */
function Gap({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tbody aria-hidden="true">
      <tr style={{ height: `${height}px` }} />
    </tbody>
  );
}

interface HeadProps<Row> {
  column: SortableColumn<Row>;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const active = sort.column === column.name;
  const order = active ? (sort.descending ? "descending" : "ascending") : undefined;
  return (
    <th
      scope="col"
      class={look(column)}
      style={column.width ? { width: `${column.width}px` } : undefined}
      title={column.definition ?? undefined}
      aria-sort={order}
    >
      <button type="button" class="sort" onClick={() => onSort(nextSort(sort, column.name, column.numeric ?? false))}>
        <span class={column.definition ? "defined" : undefined}>{column.title}</span>
        <span class="sort-mark" aria-hidden="true">
          {active ? (sort.descending ? "▼" : "▲") : ""}
        </span>
      </button>
    </th>
  );
}

function Cell<Row>({ column, row, named }: { column: SortableColumn<Row>; row: Row; named: boolean }) {
  const content = cellContent(column, row);
  if (named) {
    return (
      <th scope="row" class={look(column)}>
        {content}
      </th>
    );
  }
  const missing = content === NOT_MEASURED ? "missing" : undefined;
  return <td class={[look(column), missing].filter(Boolean).join(" ") || undefined}>{content}</td>;
}
