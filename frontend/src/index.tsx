/** The entry: TensorBoard imports this module into an empty page and calls `render`. */

import { render as renderInto } from "preact";
import { address, setBase } from "./api/client";
import { queries } from "./api/queries";
import { App } from "./app";
import { listenForReload } from "./host/guest";
import { followTheme, theme } from "./host/theme";
import { followVisibility } from "./host/visibility";
import { followAddress, reload, reloadWhenSeen, runsAddress } from "./state/store";
import { CHART_COLORS } from "./theme/palette";
import { ErrorBoundary } from "./ui/error-boundary";
import "./styles/index.css";

function addStyles(): Promise<void> {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = address("index.css");
  return new Promise((resolve) => {
    // Without its style the page is plain, but all there.
    link.onload = link.onerror = () => resolve();
    document.head.append(link);
  });
}

/** The colours that charts and page share, as CSS variables: `--text`, `--muted` and so on. */
function shareColors(): void {
  theme.subscribe((name) => {
    for (const [role, color] of Object.entries(CHART_COLORS[name])) {
      document.documentElement.style.setProperty(`--${role}`, color);
    }
  });
}

function describePage(): void {
  document.documentElement.lang = "en";
  document.title = "AI performance";
  const viewport = document.createElement("meta");
  viewport.name = "viewport";
  viewport.content = "width=device-width, initial-scale=1";
  document.head.append(viewport);
}

export async function render(): Promise<void> {
  const root = document.createElement("div");
  root.id = "root";
  document.body.append(root);
  try {
    describePage();
    setBase(import.meta.url);
    followTheme();
    shareColors();
    followVisibility(root);
    followAddress();
    queries.retain(runsAddress());
    reloadWhenSeen();
    listenForReload(reload);
    await addStyles();
    renderInto(
      <ErrorBoundary what="The page">
        <App />
      </ErrorBoundary>,
      root,
    );
  } catch (error) {
    // Nobody handles a rejection of ours: the page would stay blank.
    root.textContent = `AI performance could not start: ${error instanceof Error ? error.message : String(error)}`;
    console.error(error);
  }
}
