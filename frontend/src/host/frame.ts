/** The page around us: TensorBoard's when we are its plugin, our own when opened directly. */

/** The hosting window, or null when there is none or it is of another origin. */
function hostWindow(): Window | null {
  if (window.parent === window) return null;
  try {
    // Reading throws when the parent is of another origin.
    void window.parent.document.body;
    return window.parent;
  } catch {
    return null;
  }
}

export const host: Window | null = hostWindow();

/** True when another page frames us, whether or not we may look into it. */
export const framed: boolean = window.parent !== window;

/** The window whose address carries our state; null when it is out of reach. */
export const addressWindow: Window | null = framed ? host : window;
