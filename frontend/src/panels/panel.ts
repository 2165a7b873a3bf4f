/** What a panel is. */

import type { FunctionComponent } from "preact";

export interface Panel {
  /** In the address. */
  id: string;
  title: string;
  component: FunctionComponent;
  /** Shows recorded steps, so that it has nothing to show of a run without any. */
  ofSteps: boolean;
}
