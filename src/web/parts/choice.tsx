/** A choice between a few views. Each is a link, so the address always says what is shown. */
export function Choice(props: {
  label: string;
  options: ReadonlyArray<{ key: string; name: string; href: string }>;
  chosen: string;
}) {
  const { label, options, chosen } = props;
  return (
    <nav class="choice" aria-label={label}>
      {options.map(({ key, name, href }) => (
        <a key={key} href={href} aria-current={key === chosen ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

/** A choice between many. */
export function Select(props: {
  label: string;
  options: ReadonlyArray<{ key: string; name: string }>;
  chosen: string;
  onChoose(key: string): void;
}) {
  const { label, options, chosen, onChoose } = props;
  return (
    <label class="field">
      <span class="field-name">{label}</span>
      <select value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(({ key, name }) => (
          <option key={key} value={key} selected={key === chosen}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
