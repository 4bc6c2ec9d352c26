import type { Terminal } from '../../src/service/terminal.ts';

/** A terminal that keeps its standard error. */
export function terminalOf({ isInteractive }: { isInteractive: boolean }) {
  const texts: string[] = [];
  const terminal: Terminal = {
    cwd: '/',
    environment: {},
    isInteractive,
    out: () => undefined,
    err: (text) => void texts.push(text),
    onEnd: () => () => undefined,
    onReload: () => () => undefined,
    kill: () => undefined,
  };
  /** What was written, without the codes that clear a line. */
  const written = () => texts.map((text) => text.replace('\r\u001b[2K', ''));
  return { terminal, written, texts };
}

export function linesOf(text: string): string[] {
  return text.trimEnd().split('\n');
}
