/** The few icons of the toolbar, drawn here so that no font or file is fetched. */

const PATHS = {
  table: "M2 3h12v10H2zM2 6.3h12M2 9.7h12M6.5 3v10",
  chart: "M2.5 2v11.5H14M5 10.5l2.6-3.2 2.2 1.7L13.5 4.5",
  download: "M8 2v8M4.8 7L8 10.2 11.2 7M2.5 13.5h11",
  info: "M8 7.2V11.5M8 4.6v.9M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4z",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  help: "M6 6.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4v.3M8 11.3v.9M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4z",
  reload: "M13 8a5 5 0 1 1-1.5-3.6M13 2.2v3h-3",
  zoomOut: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6L14 14M4.8 7h4.4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" />
    </svg>
  );
}
