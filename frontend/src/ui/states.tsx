/** What a panel shows when it has no data to show. */

import type { ComponentChildren } from "preact";

export function Loading({ what }: { what: string }) {
  return (
    <div class="state state-loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading {what} …
    </div>
  );
}

export function Failure({ what, message, retry }: { what: string; message: string; retry?: () => void }) {
  return (
    <div class="state state-failure" role="alert">
      <p>
        <strong>Could not load {what}.</strong> {message}
      </p>
      {retry && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Notice({ kind, children }: { kind: "info" | "warning"; children: ComponentChildren }) {
  return (
    <div class={`notice notice-${kind}`}>
      <span class="notice-mark" aria-hidden="true">
        {kind === "warning" ? "!" : "i"}
      </span>
      <div>
        <span class="visually-hidden">{kind === "warning" ? "Warning: " : "Note: "}</span>
        {children}
      </div>
    </div>
  );
}
