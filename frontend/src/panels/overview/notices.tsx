import type { OverviewAnswer } from "../../api/types";
import { plural } from "../../format/number";
import { Notice } from "../../ui/states";

/** What the reader must know before trusting the numbers. */
export function Notices({ answer }: { answer: OverviewAnswer }) {
  const damaged = answer.damaged_chunks ?? 0;
  const superseded = answer.superseded_steps ?? 0;
  return (
    <>
      {damaged > 0 && (
        <Notice kind="warning">
          {plural(damaged, "damaged chunk")} of this run could not be read; the steps in {damaged === 1 ? "it" : "them"}{" "}
          are missing from every number.
          {answer.damage.length > 0 && (
            <details>
              <summary>Details</summary>
              <ul class="plain-list">
                {answer.damage.map((sentence) => (
                  <li key={sentence}>{sentence}</li>
                ))}
              </ul>
            </details>
          )}
        </Notice>
      )}
      {superseded > 0 && (
        <Notice kind="info">
          {plural(superseded, "step")} of earlier attempts ran again after a resume; only the newest run of each counts.
        </Notice>
      )}
      {answer.notes.map((note) => (
        <Notice kind="info" key={note}>
          {note}
        </Notice>
      ))}
    </>
  );
}
