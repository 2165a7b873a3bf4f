/** Tables: one description of the columns serves the screen and the CSV file. */

import type { ComponentChildren } from "preact";
import { type CsvValue, toCsv } from "../format/csv";
import { NOT_MEASURED } from "../format/number";

export interface Column<Row> {
  title: string;
  /** Name in the CSV file, with the unit as a suffix. */
  name: string;
  /** The value at full precision, for the file. */
  raw: (row: Row) => CsvValue;
  /** What the cell shows; default: the raw value. */
  cell?: (row: Row) => ComponentChildren;
  /** Numbers are set to the right. */
  numeric?: boolean;
  definition?: string | null | undefined;
  /** Only in the file: another column shows it on the screen. */
  fileOnly?: boolean;
  /** Left out where the table is narrow, unless it is shown in full. */
  wide?: boolean;
  /** Sentences: they take several lines rather than widen the table. */
  wraps?: boolean;
}

interface Props<Row> {
  /** What the table holds, for those who cannot see it. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** The first column names its row. */
  rowKey: (row: Row, index: number) => string;
  /** Show every column, whatever the width. */
  full?: boolean;
}

export function cellContent<Row>(column: Column<Row>, row: Row): ComponentChildren {
  if (column.cell) return column.cell(row);
  const value = column.raw(row);
  return value === null || value === undefined ? NOT_MEASURED : String(value);
}

export function DataTable<Row>({ caption, columns: all, rows, rowKey, full = false }: Props<Row>) {
  const columns = all.filter((column) => !column.fileOnly);
  const look = (column: Column<Row>): string =>
    [column.numeric && "numeric", column.wide && !full && "wide-only", column.wraps && "wraps"]
      .filter(Boolean)
      .join(" ");
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label={caption}>
      <table class="data-table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={look(column)} title={column.definition ?? undefined}>
                <span class={column.definition ? "defined" : undefined}>{column.title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)}>
              {columns.map((column, position) => {
                const content = cellContent(column, row);
                const missing = content === NOT_MEASURED ? " missing" : "";
                return position === 0 ? (
                  <th key={column.name} scope="row" class={look(column)}>
                    {content}
                  </th>
                ) : (
                  <td key={column.name} class={look(column) + missing}>
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The same table as CSV text. */
export function tableCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return toCsv(
    columns.map((column) => column.name),
    rows.map((row) => columns.map((column) => column.raw(row))),
  );
}

/** One CSV text of the same table of several runs. A column that only some runs have is empty for the others. */
export function runsCsv<Run extends { name: string }, Row>(
  runs: readonly Run[],
  columnsOf: (run: Run) => readonly Column<Row>[],
  rowsOf: (run: Run) => readonly Row[],
): string {
  const names = [...new Set(runs.flatMap((run) => columnsOf(run).map((column) => column.name)))];
  const lines = runs.flatMap((run) => {
    const columns = new Map(columnsOf(run).map((column) => [column.name, column]));
    return rowsOf(run).map((row) => [run.name, ...names.map((name) => columns.get(name)?.raw(row))]);
  });
  return toCsv(["run", ...names], lines);
}
