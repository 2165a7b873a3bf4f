/**
 * Our part of the address: `#tb_aiperf&p.tb_aiperf.key=value&…`. TensorBoard keeps these keys when the reader changes
 * tabs, but does not hand them to the plugin at load, so they are read from its address.
 */

const PREFIX = "p.tb_aiperf.";

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Our keys and values in `hash`. */
export function readHash(hash: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals < 0) continue;
    const name = decode(part.slice(0, equals));
    if (name.startsWith(PREFIX)) values.set(name.slice(PREFIX.length), decode(part.slice(equals + 1)));
  }
  return values;
}

/** `hash` with our keys replaced by `values`; everybody else's stay as they are. */
export function writeHash(hash: string, values: ReadonlyMap<string, string>): string {
  const others = hash
    .replace(/^#/, "")
    .split("&")
    .filter((part) => part !== "" && !decode(part.split("=")[0] ?? "").startsWith(PREFIX));
  const ours = [...values].map(([name, value]) => `${PREFIX}${name}=${encodeURIComponent(value)}`);
  const all = [...others, ...ours];
  return all.length > 0 ? `#${all.join("&")}` : "";
}
