/** TensorBoard's own kind of filter: a regular expression found anywhere in a name, any letter case. */

export interface TextFilter {
  matches: (text: string) => boolean;
  /** What is wrong with the expression, if anything; then everything matches. */
  error: string | null;
}

/** `what` names what is filtered, for the message. */
export function textFilter(expression: string, what: string): TextFilter {
  if (expression === "") return { matches: () => true, error: null };
  try {
    const pattern = new RegExp(expression, "i");
    return { matches: (text) => pattern.test(text), error: null };
  } catch {
    return { matches: () => true, error: `Not a valid regular expression; all ${what} are listed.` };
  }
}
