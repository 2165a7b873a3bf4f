/** Tooltips as DOM nodes: names come from the data and must never be read as HTML. */

export interface TooltipRow {
  color: string;
  name: string;
  value: string;
}

function element(tag: string, className: string, text = ""): HTMLElement {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

export function tooltip(title: string, rows: readonly TooltipRow[], note = ""): HTMLElement {
  const root = element("div", "tip");
  root.append(element("div", "tip-title", title));
  const table = element("table", "tip-table");
  for (const row of rows) {
    const line = document.createElement("tr");
    const name = element("td", "tip-name");
    const mark = element("span", "swatch");
    mark.style.backgroundColor = row.color;
    name.append(mark, row.name);
    line.append(name, element("td", "tip-value", row.value));
    table.append(line);
  }
  root.append(table);
  if (note) root.append(element("div", "tip-note", note));
  return root;
}

/** The hovered position on the x axis, out of what ECharts hands to an axis tooltip's formatter. */
export function hoveredX(parameters: unknown): number | null {
  const first: unknown = Array.isArray(parameters) ? parameters[0] : parameters;
  if (typeof first !== "object" || first === null || !("axisValue" in first)) return null;
  const value = Number(first.axisValue);
  return Number.isFinite(value) ? value : null;
}

/** The index of the hovered item. */
export function hoveredIndex(parameters: unknown): number | null {
  const first: unknown = Array.isArray(parameters) ? parameters[0] : parameters;
  if (typeof first !== "object" || first === null || !("dataIndex" in first)) return null;
  return typeof first.dataIndex === "number" ? first.dataIndex : null;
}
