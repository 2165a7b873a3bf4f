/** A long name on one line, shortened in the middle where it does not fit: names differ at both ends. */

/** The end of the name that always stays. */
const END = 16;
/** Names up to this length are rather cut at their end. */
const SHORT = 2 * END;

export function MiddleText({ text: given }: { text: string }) {
  // One line, whatever the name holds.
  const text = given.replace(/\s+/g, " ");
  if (text.length <= SHORT) {
    return (
      <span class="middle" title={given}>
        <span class="middle-start">{text}</span>
      </span>
    );
  }
  return (
    <span class="middle" title={given}>
      <span class="middle-start">{text.slice(0, -END)}</span>
      <span class="middle-end">{text.slice(-END)}</span>
    </span>
  );
}
