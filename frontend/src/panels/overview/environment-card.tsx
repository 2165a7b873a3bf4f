/** What the run ran on and with. */

import type { EnvironmentValue, OverviewAnswer } from "../../api/types";
import { Card } from "../../ui/card";
import { tableCsv } from "../../ui/data-table";
import { type Fact, groupEnvironment } from "./environment";

const COLUMNS = [
  { title: "Name", name: "name", raw: (fact: Fact) => fact.path },
  { title: "Value", name: "value", raw: (fact: Fact) => fact.text },
];

/** The few facts that readers look for first, where they are recorded. */
function environmentFinding(environment: { [key: string]: EnvironmentValue }): string {
  const facts = new Map(
    groupEnvironment(environment).flatMap((group) => group.facts.map((fact) => [fact.path, fact.text])),
  );
  const torch = facts.get("versions.torch");
  const parts = [
    torch && `PyTorch ${torch}`,
    facts.get("trainer.accelerator"),
    facts.get("numerics.precision") && `precision ${facts.get("numerics.precision")}`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "What the run ran on";
}

export function EnvironmentCard({ answer }: { answer: OverviewAnswer }) {
  const { environment } = answer;
  if (environment === null || environment === undefined) return <div class="card-gap" />;
  const groups = groupEnvironment(environment);
  return (
    <Card
      kind="Environment"
      finding={environmentFinding(environment)}
      level={3}
      wide
      csv={() =>
        tableCsv(
          COLUMNS,
          groups.flatMap((group) => group.facts),
        )
      }
    >
      <div class="fact-groups">
        {groups.map(({ title, facts, missing }) => (
          <div class="fact-group" key={title}>
            <h4>{title}</h4>
            <dl>
              {facts.map(({ path, name, text }) => (
                <div key={path}>
                  <dt>{name}</dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
            {missing.length > 0 && <p class="missing">Not recorded: {missing.join(", ")}</p>}
          </div>
        ))}
      </div>
    </Card>
  );
}
