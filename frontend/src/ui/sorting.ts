/** Sorting the rows of a table by one of its columns. */

import type { CsvValue } from "../format/csv";

export interface Sort {
  /** `name` of the column. */
  column: string;
  descending: boolean;
}

const compareTexts = new Intl.Collator("en", { numeric: true }).compare;

function compare(a: CsvValue, b: CsvValue): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return compareTexts(String(a), String(b));
}

/** `rows` by `value`; what is missing comes last either way, and equal rows keep their order. */
export function sorted<Row>(rows: readonly Row[], value: (row: Row) => CsvValue, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    const [noLeft, noRight] = [left === null || left === undefined, right === null || right === undefined];
    if (noLeft || noRight) return Number(noLeft) - Number(noRight);
    return sign * compare(left, right);
  });
}

/** What a click on a column's head makes of the sort: numbers begin with the largest, names with the first. */
export function nextSort(sort: Sort, column: string, numeric: boolean): Sort {
  return sort.column === column ? { column, descending: !sort.descending } : { column, descending: numeric };
}
