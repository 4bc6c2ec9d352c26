import { useEffect, useRef } from 'preact/hooks';

const WAIT_MS = 250;

/** A field for text. The list shows only what matches the text while a person types. */
export function SearchField(props: { label: string; text: string; onText(text: string): void }) {
  const { label, text, onText } = props;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="field">
      <span class="field-name">{label}</span>
      <input
        type="search"
        defaultValue={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          const { value } = event.currentTarget;
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onText(value.trim()), WAIT_MS);
        }}
      />
    </label>
  );
}
