/** The panel Profile: a window of steps that torch.profiler recorded, from the finding down to single events. */

import { address } from "../../api/client";
import { useSlots } from "../../api/queries";
import type { ProfileAnswer } from "../../api/profile-types";
import { theme } from "../../host/theme";
import { type ShownProfile, shownProfile } from "../../state/profiles";
import { catalogue, selection, setView, view } from "../../state/store";
import { CHART_COLORS } from "../../theme/palette";
import { Failure, Loading } from "../../ui/states";
import { BreakdownCard } from "./breakdown-card";
import { CollectivesCard } from "./collectives-card";
import { ComparisonCards } from "./comparison-card";
import { DeviceCard } from "./device-card";
import { FindingsCard } from "./findings-card";
import { KernelsCard } from "./kernels-card";
import { MemoryCard } from "./memory-card";
import { NoProfile } from "./no-profile";
import { OperatorsCard } from "./operators-card";
import { chosenStep } from "./steps";
import { TIMELINE_ID, TimelineCard } from "./timeline/timeline-card";
import { WindowChoice } from "./window-choice";

export function ProfileView() {
  const shown = shownProfile(catalogue.value?.runs ?? [], selection.value, view.value.profile);
  return shown ? <ShownWindow shown={shown} /> : <NoProfile />;
}

function ShownWindow({ shown }: { shown: ShownProfile }) {
  const { run, info } = shown;
  const url = address("api/v1/profile", { run: run.run, attempt: info.attempt, window: info.window });
  const state = useSlots<ProfileAnswer>(new Map([["profile", url]])).get("profile");
  const answer = state?.data ?? null;
  return (
    <>
      <WindowChoice shown={shown} />
      {state?.error && <Failure what={`the profile of ${run.run}`} message={state.error} retry={state.retry} />}
      {!answer && !state?.error && <Loading what="the profile" />}
      {answer && (
        <Cards
          key={`${answer.run} ${answer.attempt} ${answer.window}`}
          answer={answer}
          shown={shown}
          busy={state?.loading ?? false}
        />
      )}
    </>
  );
}

interface CardsProps {
  answer: ProfileAnswer;
  shown: ShownProfile;
  busy: boolean;
}

function Cards({ answer, shown, busy }: CardsProps) {
  const colors = CHART_COLORS[theme.value];
  const step = chosenStep(answer.profile.steps, view.value.profileStep);
  const choose = (place: number): void => setView({ profileStep: place });
  const goToTimeline = (): void => {
    const timeline = document.getElementById(TIMELINE_ID);
    timeline?.scrollIntoView({ block: "start" });
    timeline?.focus({ preventScroll: true });
  };
  return (
    <>
      <FindingsCard answer={answer} busy={busy} />
      <BreakdownCard answer={answer} colors={colors} step={step} onStep={choose} goToTimeline={goToTimeline} />
      <ComparisonCards shown={shown} colors={colors} />
      <DeviceCard answer={answer} colors={colors} />
      <OperatorsCard answer={answer} />
      <KernelsCard answer={answer} />
      <MemoryCard answer={answer} colors={colors} />
      <CollectivesCard answer={answer} colors={colors} />
      <TimelineCard answer={answer} step={step} onStep={choose} />
    </>
  );
}
