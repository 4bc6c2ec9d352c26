import { SECOND_MS } from '../../lib/time.ts';
import { visibleText } from '../../lib/visible-text.ts';
import type { Terminal } from '../../service/terminal.ts';

const LINE_EVERY_MS = 10 * SECOND_MS;
const BAR_CHARACTERS = 24;

/** Shows progress: one line that is redrawn on a terminal, else a new line every few seconds. */
export function createLineView(terminal: Terminal, now: () => number) {
  let lastMs = now();
  let isDrawn = false;
  return {
    show(line: string): void {
      if (terminal.isInteractive) {
        terminal.err(`\r\x1b[2K${visibleText(line)}`);
        isDrawn = true;
      } else if (now() - lastMs >= LINE_EVERY_MS) {
        lastMs = now();
        terminal.err(`wattline: ${visibleText(line)}\n`);
      }
    },
    clear(): void {
      if (isDrawn) terminal.err('\r\x1b[2K');
      isDrawn = false;
    },
  };
}

export function followUpText(part: number): string {
  return part < 1 ? `rolling up and publishing ${wholePercent(part)}` : 'rolled up, publishing';
}

export function bar(part: number): string {
  const full = Math.round(part * BAR_CHARACTERS);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CHARACTERS - full)}]`;
}

export function wholePercent(part: number): string {
  return `${Math.floor(part * 100)} %`;
}

export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 90 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}
