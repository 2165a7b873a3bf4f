/** A card: the finding as its heading, a chart or the same numbers as a table, exports, and what each number means. */

import type { ComponentChildren } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { ChartShelf, ShelfContext } from "../charts/shelf";
import { download, fileName } from "../format/file";
import { ErrorBoundary } from "./error-boundary";
import { Icon } from "./icons";
import { Menu } from "./menu";

export interface Definition {
  term: string;
  text: string;
}

interface Props {
  /** What kind of card this is: the same words for every run. */
  kind: string;
  /** What the card shows, as a sentence. */
  finding: string;
  children: ComponentChildren;
  /** The same numbers as a table; shown instead of `children`. */
  table?: () => ComponentChildren;
  csv?: () => string;
  /** Further downloads. */
  links?: readonly { title: string; href: string }[];
  definitions?: readonly Definition[];
  /** Which steps the numbers cover. */
  scope?: string;
  /** A newer answer is on its way. */
  busy?: boolean;
  hasChart?: boolean;
  level?: 2 | 3;
  /** Takes a whole row where cards stand side by side. */
  wide?: boolean;
}

export function Card(props: Props) {
  const [asTable, setAsTable] = useState(false);
  const [explained, setExplained] = useState(false);
  const shelf = useMemo(() => new ChartShelf(), []);
  const id = useId();
  const Heading = props.level === 3 ? "h3" : "h2";
  const definitions = props.definitions ?? [];

  return (
    <div
      class={props.wide ? "card card-wide" : "card"}
      role="group"
      aria-labelledby={`${id}-title`}
      aria-busy={props.busy ?? false}
    >
      <header class="card-header">
        <div class="card-title">
          <p class="card-kind">{props.kind}</p>
          <Heading id={`${id}-title`}>{props.finding}</Heading>
          {props.scope && <p class="card-scope">{props.scope}</p>}
        </div>
        <div class="card-tools">
          {props.table && (
            <button
              type="button"
              class="tool"
              aria-pressed={asTable}
              title={asTable ? "Show the chart" : "Show the numbers as a table"}
              onClick={() => setAsTable(!asTable)}
            >
              <Icon name={asTable ? "chart" : "table"} />
              <span class="tool-text">Table</span>
            </button>
          )}
          <ExportMenu {...props} shelf={shelf} charts={(props.hasChart ?? false) && !asTable} />
          {definitions.length > 0 && (
            <button
              type="button"
              class="tool"
              aria-expanded={explained}
              aria-controls={`${id}-definitions`}
              title="What these numbers mean"
              onClick={() => setExplained(!explained)}
            >
              <Icon name="info" />
              <span class="tool-text">Definitions</span>
            </button>
          )}
        </div>
      </header>
      {definitions.length > 0 && (
        <dl class="definitions" id={`${id}-definitions`} hidden={!explained}>
          {definitions.map(({ term, text }) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      <ShelfContext.Provider value={shelf}>
        <ErrorBoundary what="This card">{asTable && props.table ? props.table() : props.children}</ErrorBoundary>
      </ShelfContext.Provider>
    </div>
  );
}

interface ExportProps extends Props {
  shelf: ChartShelf;
  charts: boolean;
}

function ExportMenu({ kind, csv, links = [], shelf, charts }: ExportProps) {
  if (!csv && links.length === 0 && !charts) return null;
  const name = kind.toLowerCase();
  return (
    <Menu label="Export" icon={<Icon name="download" />}>
      {(close) => (
        <>
          {csv && (
            <button
              type="button"
              class="menu-item"
              onClick={() => {
                download(`${fileName(name)}.csv`, new Blob([csv()], { type: "text/csv" }));
                close();
              }}
            >
              These numbers (CSV)
            </button>
          )}
          {charts &&
            (["png", "svg"] as const).map((format) => (
              <button
                type="button"
                class="menu-item"
                key={format}
                onClick={() => {
                  void shelf.save(format, kind);
                  close();
                }}
              >
                Image ({format.toUpperCase()})
              </button>
            ))}
          {links.map(({ title, href }) => (
            <a class="menu-item" key={href} href={href} download onClick={close}>
              {title}
            </a>
          ))}
        </>
      )}
    </Menu>
  );
}
