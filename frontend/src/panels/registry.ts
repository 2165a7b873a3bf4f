/** The panels, in the order of their tabs. A new panel is one file that exports a `Panel`, named here. */

import { overviewPanel } from "./overview/overview-panel";
import type { Panel } from "./panel";
import { profilePanel } from "./profile/profile-panel";
import { stepsPanel } from "./steps/steps-panel";

export const PANELS: readonly [Panel, ...Panel[]] = [overviewPanel, stepsPanel, profilePanel];

export function panelById(id: string): Panel {
  return PANELS.find((panel) => panel.id === id) ?? PANELS[0];
}
