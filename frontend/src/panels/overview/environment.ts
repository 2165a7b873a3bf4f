/** The environment record as groups of facts. */

import type { EnvironmentValue } from "../../api/types";
import { bytes } from "../../format/number";
import { wordsOf } from "../../format/words";

type Nested = { [key: string]: EnvironmentValue };

export interface Fact {
  /** Keys that lead to the value, for the file. */
  path: string;
  name: string;
  text: string;
}

export interface FactGroup {
  title: string;
  facts: Fact[];
  /** Names whose value is null: absent, or not known; the record does not tell these apart. */
  missing: string[];
}

const isNested = (value: EnvironmentValue): value is Nested =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function valueText(key: string, value: EnvironmentValue): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    return /(^|_)bytes$/.test(key) ? bytes(value) : value.toLocaleString("en-US", { maximumFractionDigits: 6 });
  }
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map((item) => valueText(key, item)).join(", ");
  return isNested(value) ? JSON.stringify(value) : String(value);
}

/** "memory_bytes" reads "Memory": the value shows the unit. */
const nameOf = (key: string): string => wordsOf(key.replace(/_bytes$/, ""));

function collect(group: FactGroup, value: Nested, path: string, prefix: string): void {
  for (const [key, inner] of Object.entries(value)) {
    const name = prefix + nameOf(key);
    if (inner === null) group.missing.push(name);
    else if (isNested(inner)) collect(group, inner, `${path}${key}.`, `${name}: `);
    else group.facts.push({ path: path + key, name, text: valueText(key, inner) });
  }
}

/** One group per object of the record and per item of a list of objects; what lies beside them comes first. */
export function groupEnvironment(environment: Nested): FactGroup[] {
  const general: FactGroup = { title: "General", facts: [], missing: [] };
  const groups: FactGroup[] = [];
  const add = (title: string, value: Nested, path: string): void => {
    const group: FactGroup = { title, facts: [], missing: [] };
    collect(group, value, path, "");
    if (group.facts.length + group.missing.length > 0) groups.push(group);
  };
  for (const [key, value] of Object.entries(environment)) {
    const title = wordsOf(key);
    if (isNested(value)) {
      add(title, value, `${key}.`);
    } else if (Array.isArray(value) && value.length > 0 && value.every(isNested)) {
      for (const [index, item] of value.entries()) {
        add(value.length > 1 ? `${title}, ${index + 1} of ${value.length}` : title, item, `${key}.${index}.`);
      }
    } else {
      collect(general, { [key]: value }, "", "");
    }
  }
  return general.facts.length + general.missing.length > 0 ? [general, ...groups] : groups;
}
