/** Where the trace file lies, and how to look at it in Perfetto. Nothing is sent anywhere by itself. */

import { useRef, useState } from "preact/hooks";

/** Copies `text`, by hand of the page where the clipboard is out of reach (no secure context). */
async function copyText(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (!shown) return false;
    const range = document.createRange();
    range.selectNodeContents(shown);
    const selected = window.getSelection();
    selected?.removeAllRanges();
    selected?.addRange(range);
    return document.execCommand("copy");
  }
}

const SAID_MS = 3000;

export function TraceFile({ path }: { path: string }) {
  const shown = useRef<HTMLElement>(null);
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    setSaid((await copyText(path, shown.current)) ? "Copied." : "Select the path and copy it by hand.");
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <div class="trace-file">
      <p>
        Trace file: <code ref={shown}>{path}</code>{" "}
        <button type="button" class="button button-small" onClick={() => void copy()}>
          Copy path
        </button>{" "}
        <span role="status">{said}</span>
      </p>
      <p class="chart-note">
        To see every event in Perfetto, open{" "}
        <a class="link" href="https://ui.perfetto.dev" target="_blank" rel="noreferrer noopener">
          ui.perfetto.dev
        </a>{" "}
        (a new tab), choose “Open trace file” and pick this file. The file stays on your machine.
      </p>
    </div>
  );
}
