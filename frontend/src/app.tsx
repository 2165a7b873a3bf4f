/** The page: header with the panels' tabs, sidebar, and the chosen panel. */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { queries } from "./api/queries";
import { framed } from "./host/frame";
import { PANELS, panelById } from "./panels/registry";
import { Sidebar } from "./sidebar/sidebar";
import { columns } from "./state/shown";
import { reload, runsAddress, runsState, setView, shownRuns, view } from "./state/store";
import { ErrorBoundary } from "./ui/error-boundary";
import { HelpDialog } from "./ui/help-dialog";
import { Icon } from "./ui/icons";
import { Resizer, useSidebarWidth } from "./ui/resizer";
import { NoRuns } from "./ui/no-runs";
import { RunsLeftOut } from "./ui/runs-left-out";
import { Failure, Loading } from "./ui/states";

/** Typing a question mark into a field is not a call for help. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input[type=search], input[type=text], textarea");

export function App() {
  const [helping, setHelping] = useState(false);
  const [width, setWidth] = useSidebarWidth();

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === "?" && !isTyping(event.target)) setHelping(true);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  const { data } = runsState.value;
  const hasRuns = data !== null && data.runs.length > 0;
  return (
    <div class="page" style={{ "--sidebar": `${width}px` }}>
      <Header onHelp={() => setHelping(true)} showPanels={hasRuns} />
      <div class={hasRuns ? "body" : "body body-plain"}>
        {hasRuns && (
          <aside class="sidebar" aria-label="Runs and choices">
            <div class="sidebar-content">
              <Sidebar />
            </div>
            <Resizer width={width} onChange={setWidth} />
          </aside>
        )}
        <main class="main" id="panel">
          <Content />
        </main>
      </div>
      <HelpDialog open={helping} onClose={() => setHelping(false)} />
    </div>
  );
}

function Header({ onHelp, showPanels }: { onHelp: () => void; showPanels: boolean }) {
  const current = panelById(view.value.panel);
  return (
    <header class="header">
      <h1>AI performance</h1>
      {showPanels && (
        <nav class="tabs" aria-label="Panels">
          {PANELS.map(({ id, title }) => (
            <button
              key={id}
              type="button"
              class="tab"
              aria-current={id === current.id ? "page" : undefined}
              onClick={() => setView({ panel: id })}
            >
              {title}
            </button>
          ))}
        </nav>
      )}
      <span class="toolbar-gap" />
      {/* In TensorBoard its own reload button does this. */}
      {!framed && (
        <button type="button" class="tool" onClick={reload} title="Reload the data">
          <Icon name="reload" />
          <span class="tool-text">Reload</span>
        </button>
      )}
      <button type="button" class="tool" onClick={onHelp} title="Keys and mouse (?)">
        <Icon name="help" />
        <span class="tool-text">Help</span>
      </button>
    </header>
  );
}

function Content() {
  const { data, error, loading } = runsState.value;
  const retry = (): void => queries.retry(runsAddress());
  const panel = panelById(view.value.panel);
  // Each panel begins at its top, however far down the last one was left.
  useLayoutEffect(() => {
    const main = document.getElementById("panel");
    if (main) main.scrollTop = 0;
  }, [panel.id]);
  if (data === null) {
    return error !== null && !loading ? (
      <Failure what="the list of runs" message={error} retry={retry} />
    ) : (
      <Loading what="runs" />
    );
  }
  if (data.runs.length === 0) return <NoRuns skipped={data.skipped ?? []} />;
  return (
    <>
      {error !== null && <Failure what="newer data" message={error} retry={retry} />}
      {panel.ofSteps && <RunsLeftOut />}
      {shownRuns.value.length === 0 ? (
        <p class="state">Select a run on the left.</p>
      ) : (
        (columns.value.length > 0 || !panel.ofSteps) && (
          <ErrorBoundary key={panel.id} what={`The panel ${panel.title}`}>
            <panel.component />
          </ErrorBoundary>
        )
      )}
    </>
  );
}
