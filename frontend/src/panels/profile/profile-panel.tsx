/** Profile: what torch.profiler recorded of a window of steps. Its code is large, so it is fetched when first shown. */

import { lazyComponent } from "../../ui/lazy";
import type { Panel } from "../panel";

export const profilePanel: Panel = {
  id: "profile",
  title: "Profile",
  component: lazyComponent("the profile", async () => (await import("./profile-view")).ProfileView),
  ofSteps: false,
};
