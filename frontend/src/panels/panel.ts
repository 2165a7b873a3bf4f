/** What a panel is. */

import type { FunctionComponent } from "preact";

export interface Panel {
  /** In the address. */
  id: string;
  title: string;
  component: FunctionComponent;
}
