import { loopTitle } from "../state/definitions";
import type { ShownRun } from "../state/shown";
import { Swatch } from "./swatch";

/** A run's swatch and name, with rank and loop where they are not the plain case. */
export function RunName({ run, as: Tag = "p" }: { run: ShownRun; as?: "p" | "h2" | "h3" }) {
  const { rank, world_size: world } = run.info;
  return (
    <Tag class="run-name">
      <Swatch color={run.color} round />
      <span class="run-text">{run.name}</span>
      <span class="run-detail">
        {loopTitle(run.loop.loop)}
        {world !== null && world > 1 && `, rank ${rank} of ${world}`}
      </span>
    </Tag>
  );
}
