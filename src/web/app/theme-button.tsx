import { useState } from 'preact/hooks';
import { chooseTheme, storedTheme, type Theme, themes } from './theme.ts';

const signs: Readonly<Record<Theme, string>> = {
  system: 'M2.5 4.5h15v9h-15zM7 17h6M10 13.5V17',
  light:
    'M10 6.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6L16 16M4 16l1.4-1.4M14.6 5.4L16 4',
  dark: 'M16.5 12.2A7 7 0 0 1 7.8 3.5a7 7 0 1 0 8.7 8.7z',
};

/** Changes the theme: from that of the system to light, to dark, and back. */
export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  const label = `Theme: ${theme}. Change to ${next}`;
  return (
    <button
      type="button"
      class="button quiet theme-button"
      title={label}
      aria-label={label}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    >
      <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
        <path d={signs[theme]} />
      </svg>
    </button>
  );
}
