/** A few choices side by side, one of which holds. */

interface Props<Value extends string> {
  label: string;
  value: Value;
  choices: readonly { value: Value; title: string }[];
  onChange: (value: Value) => void;
}

export function Segmented<Value extends string>({ label, value: chosen, choices, onChange }: Props<Value>) {
  return (
    <div class="segmented" role="group" aria-label={label}>
      {choices.map(({ value, title }) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChange(value)}>
          {title}
        </button>
      ))}
    </div>
  );
}
