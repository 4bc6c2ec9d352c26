import { expect, test } from 'vitest';
import { describeInputProblem, describeInputs } from '../../src/cli/inputs/inputs-view.ts';
import type { InputState } from '../../src/inputs/input-counter.ts';
import { linesOf } from './terminal-of.ts';

const nowMs = Date.UTC(2026, 4, 17, 12);
const input: InputState = {
  workgroupId: 'home',
  input: 'house',
  kind: 'mqtt',
  address: 'mqtt://broker:1883',
  connection: 'connected',
  sinceMs: nowMs - 60_000,
  disconnects: 0,
  losses: [],
  perMinute: 1,
  received: 2_345,
  stored: 3,
  repeated: 4,
  retained: 5,
  ignored: 6,
  refused: 7,
};

test('each count of an input is in its column', () => {
  const [titles, line] = linesOf(
    describeInputs([{ ...input, lastMessageAtMs: nowMs - 5_000 }], [], nowMs, Number.POSITIVE_INFINITY),
  );
  expect(titles!.split(/ {2,}/)).toEqual([
    'Workgroup',
    'Input',
    'Address',
    'State',
    'Last',
    'A minute',
    'Received',
    'Stored',
    'Again',
    'Retained',
    'Ignored',
    'Refused',
  ]);
  expect(line!.split(/ {2,}/)).toEqual([
    'home',
    'house',
    'mqtt://broker:1883',
    'connected',
    '5 s ago',
    ...['1', '2,345', '3', '4', '5', '6', '7'],
  ]);
});

test('below the table are the troubles, and the last refused and ignored messages', () => {
  const told: InputState = {
    ...input,
    input: 'lines',
    connection: 'idle',
    lastRefused: { atMs: nowMs, about: 'a/b', reason: 'no JSON' },
    lastIgnored: 'no rule matches the topic c',
  };
  const trouble = {
    workgroupId: 'home',
    stage: 'input' as const,
    state: 'failing' as const,
    sinceMs: 0,
    message: 'no',
  };
  const text = describeInputs([told], [trouble], nowMs, Number.POSITIVE_INFINITY);
  expect(text).toMatch(/^home +lines +mqtt:\/\/broker:1883 +- +- /m);
  expect(linesOf(text).slice(3)).toEqual([
    expect.stringMatching(/^failing: workgroup home, .*: no$/),
    'refused: home, lines, a/b at 2026-05-17T12:00:00.000Z: no JSON',
    'ignored: home, lines, no rule matches the topic c',
  ]);
  expect(describeInputs([], [], nowMs, 80)).toBe('no inputs\n');
});

test('an input without a problem has no line', () => {
  expect(describeInputProblem(input)).toEqual([]);
  expect(describeInputProblem({ ...input, connection: 'disconnected', problem: 'refused' })).toEqual([
    'input home, house: disconnected since 2026-05-17T11:59:00.000Z: refused',
  ]);
});
