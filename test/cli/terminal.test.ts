import { CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/terminal/exit-codes.ts';
import { failing } from '../../src/cli/terminal/failing.ts';
import { formatAgo } from '../../src/cli/terminal/format-ago.ts';
import { printError } from '../../src/cli/terminal/print-error.ts';
import { bar, createLineView, formatSeconds, wholePercent } from '../../src/cli/terminal/progress-view.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { InputError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import type { Trouble } from '../../src/pipeline/trouble.ts';
import { terminalOf } from './terminal-of.ts';

test('an age is printed in the largest unit of which at least two have passed', () => {
  const SECOND = 1_000;
  const MINUTE = 60 * SECOND;
  const HOUR = 60 * MINUTE;
  const ago = (ms: number) => formatAgo(0, ms);
  expect([119 * SECOND, 2 * MINUTE, 119 * MINUTE, 2 * HOUR, 47 * HOUR, 48 * HOUR].map(ago)).toEqual([
    '119 s ago',
    '2 min ago',
    '119 min ago',
    '2 h ago',
    '47 h ago',
    '2 d ago',
  ]);
  // The clock of another machine may be ahead.
  expect([formatAgo(5_000, 0), formatAgo(undefined, 0)]).toEqual(['0 s ago', '-']);
});

test('a part is printed in whole percent that are reached', () => {
  expect([0, 0.009, 0.999, 1].map(wholePercent)).toEqual(['0 %', '0 %', '99 %', '100 %']);
  expect([0, 0.5, 1].map(bar)).toEqual([
    `[${'.'.repeat(24)}]`,
    `[${'#'.repeat(12)}${'.'.repeat(12)}]`,
    `[${'#'.repeat(24)}]`,
  ]);
});

test('the remaining time is printed in minutes from 90 s on', () => {
  expect([-3, 0.4, 89.4, 90, 149, 5_400].map(formatSeconds)).toEqual([
    '0 s',
    '0 s',
    '89 s',
    '2 min',
    '2 min',
    '90 min',
  ]);
});

test('a line of progress is cleared once, and only if it was drawn', () => {
  const { terminal, texts } = terminalOf({ isInteractive: true });
  const view = createLineView(terminal, () => 0);
  view.clear();
  view.show('half\u001b');
  view.clear();
  view.clear();
  expect(texts).toEqual(['\r\u001b[2Khalf\\u001b', '\r\u001b[2K']);
});

test.each<[code: number, error: unknown]>([
  [0, new CommanderError(0, 'commander.version', '1')],
  [2, new CommanderError(1, 'commander.unknownOption', 'x')],
  [2, new InputError('x', [])],
  [4, failing([{ stage: 'poll', state: 'failing', sinceMs: 0, message: 'x' }])],
  [3, new TransientError('Busy', 'x')],
  [3, new StreamError('Draining', 'x')],
  [1, new StreamError('InvalidToken', 'x')],
  [1, new TerminalError('X', 'x')],
  [1, new TypeError('x')],
])('the exit code is %i for %s', (code, error) => {
  expect(exitCodeOf(error)).toBe(code);
});

test('a command that fails because of troubles names the first one, and counts the others', () => {
  const trouble: Trouble = {
    workgroupId: 'home',
    stage: 'poll',
    state: 'failing',
    sinceMs: 0,
    message: 'no',
  };
  const text = (count: number) => failing(Array(count).fill(trouble)).message;
  expect(text(1)).toMatch(/: no$/);
  expect(text(3)).toMatch(/: no \(and 2 more, above\)$/);
});

test('an error is one line without control characters, and its stack and causes are printed for debugging only', () => {
  const printed = (error: unknown, debug: boolean) => {
    const { terminal, texts } = terminalOf({ isInteractive: false });
    printError(error, terminal, { json: false, debug });
    return texts.join('');
  };
  const error = new TerminalError('X', 'no\u001b[2J', { cause: new Error('the reason') });
  expect(printed(error, false)).toBe('wattline: no\\u001b[2J\n');
  expect(printed(error, true)).toMatch(/^ {4}at (?:.*\n)*caused by Error: the reason\n {4}at /m);
  const usage = new CommanderError(1, 'commander.unknownOption', 'error: x');
  expect(printed(usage, true)).toBe('wattline: x\n');
});
