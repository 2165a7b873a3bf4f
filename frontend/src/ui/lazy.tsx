/** A part of the page whose code is fetched when it is first shown. */

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure, Loading } from "./states";

/** `what` names the part while it loads and where that fails. */
export function lazyComponent(what: string, load: () => Promise<FunctionComponent>): FunctionComponent {
  let loaded: FunctionComponent | null = null;
  return () => {
    const [Component, setComponent] = useState<FunctionComponent | null>(() => loaded);
    const [failure, setFailure] = useState<string | null>(null);
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      if (loaded) return undefined;
      let gone = false;
      load()
        .then((component) => {
          loaded = component;
          if (!gone) setComponent(() => component);
        })
        .catch((error: unknown) => {
          if (!gone) setFailure(error instanceof Error ? error.message : String(error));
        });
      return () => {
        gone = true;
      };
    }, [attempt]);
    if (Component) return <Component />;
    if (failure === null) return <Loading what={what} />;
    const retry = (): void => {
      setFailure(null);
      setAttempt(attempt + 1);
    };
    return <Failure what={what} message={failure} retry={retry} />;
  };
}
