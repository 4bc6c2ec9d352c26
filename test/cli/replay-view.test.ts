import { expect, test } from 'vitest';
import { createReplayView, describeReplayProgress } from '../../src/cli/replay/replay-view.ts';
import type { Terminal } from '../../src/service/terminal.ts';

test('progress of a replay has the part, the messages and the rate', () => {
  const sending = { name: 'mine', phase: 'sending', messages: 45_000, part: 0.456 } as const;
  expect(describeReplayProgress(sending, 1.5)).toBe('mine: sending  45 %  45,000 messages  30,000/s');
  const landing = { name: 'mine', phase: 'landing', messages: 1 } as const;
  expect(describeReplayProgress(landing, 0)).toBe('mine: landing  1 message  0/s');
  expect(describeReplayProgress({ name: 'mine', phase: 'computing' }, 12.4)).toBe(
    'mine: computing and publishing, 12 s',
  );
});

test('it is redrawn on a terminal, and elsewhere it has a line every ten seconds', () => {
  let nowMs = 0;
  const shown = (isInteractive: boolean) => {
    const lines: string[] = [];
    const terminal = { isInteractive, err: (text: string) => lines.push(text) } as unknown as Terminal;
    const view = createReplayView(terminal, () => nowMs);
    for (nowMs = 0; nowMs <= 25_000; nowMs += 1_000)
      view.show({ name: 'mine', phase: 'landing', messages: nowMs, part: nowMs / 25_000 });
    view.close();
    return lines;
  };
  expect(shown(false)).toEqual([
    'wattline: mine: landing  40 %  10,000 messages  1,000/s\n',
    'wattline: mine: landing  80 %  20,000 messages  1,000/s\n',
  ]);
  expect(shown(true)).toHaveLength(27);
});

test('the time and the rate belong to the phase of the case', () => {
  let nowMs = 0;
  const lines: string[] = [];
  const terminal = { isInteractive: true, err: (text: string) => lines.push(text) } as unknown as Terminal;
  const view = createReplayView(terminal, () => nowMs);
  const shownAt = (ms: number, progress: Parameters<typeof view.show>[0]) => {
    nowMs = ms;
    view.show(progress);
    return lines.at(-1);
  };
  shownAt(0, { name: 'mine', phase: 'sending', messages: 0 });
  expect(shownAt(2_000, { name: 'mine', phase: 'sending', messages: 20 })).toContain('10/s');
  shownAt(9_000, { name: 'mine', phase: 'computing' });
  expect(shownAt(12_000, { name: 'mine', phase: 'computing' })).toContain('publishing, 3 s');
  shownAt(20_000, { name: 'other', phase: 'computing' });
  expect(shownAt(21_000, { name: 'other', phase: 'computing' })).toContain('publishing, 1 s');
  view.close();
});
