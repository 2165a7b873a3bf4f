/** Small settings kept in the browser. Storage may be switched off or full: then they last as long as the page. */

const PREFIX = "tb_aiperf.";
const memory = new Map<string, string>();

export function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

export function writePreference(name: string, value: string): void {
  memory.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Kept for this page at least.
  }
}
