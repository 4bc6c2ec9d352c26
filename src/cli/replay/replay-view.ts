import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { SECOND_MS } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import { createLineView, wholePercent } from '../terminal/progress-view.ts';
import type { ReplayProgress } from './replay-cases.ts';

/** Shows the progress of cases. It also moves while a stage reports nothing. */
export function createReplayView(terminal: Terminal, now: () => number = () => performance.now()) {
  const view = createLineView(terminal, now);
  let last: ReplayProgress | undefined;
  let phaseSinceMs = now();
  const draw = () => last && view.show(describeReplayProgress(last, (now() - phaseSinceMs) / SECOND_MS));
  const timer = setInterval(draw, SECOND_MS);
  timer.unref();
  return {
    show(progress: ReplayProgress): void {
      if (progress.name !== last?.name || progress.phase !== last.phase) phaseSinceMs = now();
      last = progress;
      draw();
    },
    close(): void {
      clearInterval(timer);
      view.clear();
    },
  };
}

/** @param seconds since the phase began */
export function describeReplayProgress(progress: ReplayProgress, seconds: number): string {
  const { name, part } = progress;
  if (progress.phase === 'computing') return `${name}: computing and publishing, ${Math.round(seconds)} s`;
  const rate = seconds > 0 ? Math.round(progress.messages / seconds) : 0;
  return [
    `${name}: ${progress.phase}`,
    ...(part === undefined ? [] : [wholePercent(Math.min(1, part))]),
    formatCountOf(progress.messages, 'message'),
    `${formatCount(rate)}/s`,
  ].join('  ');
}
