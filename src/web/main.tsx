import { render } from 'preact';
import { App } from './app/app.tsx';
import { showTheme, storedTheme } from './app/theme.ts';

showTheme(storedTheme());
render(<App />, document.getElementById('page')!);
