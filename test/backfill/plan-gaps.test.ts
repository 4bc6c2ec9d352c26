import { expect, test } from 'vitest';
import { type Availability, askAvailability } from '../../src/backfill/availability.ts';
import { availableOf, daysOfPieces } from '../../src/backfill/plan-gaps.ts';
import type { BatchOutcome, ReadOutcome } from '../../src/client/read-outcome.ts';
import type { RawAnswer, RestSource } from '../../src/client/rest-source.ts';
import { setWords } from '../../src/decode/append-message.ts';
import { createColumns } from '../../src/decode/columns-buffer.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';

const FROM_MS = Date.UTC(2026, 10, 20, 12);
const SIGNAL = new AbortController().signal;

/** An answer with one message of this store time, or without one. */
function batch(storeMs: number | undefined, members: Partial<BatchOutcome> = {}): BatchOutcome {
  const columns = createColumns(1);
  if (storeMs !== undefined) {
    setWords(columns.storeTime, 0, storeMs);
    columns.count = 1;
  }
  return {
    kind: 'batch',
    columns,
    nextOffset: undefined,
    upToDate: undefined,
    epoch: undefined,
    earliestOffset: undefined,
    clamped: undefined,
    ...members,
  };
}

/** What an upstream has from noon on, by its answer. */
function availability(outcome: ReadOutcome, lagMessages?: number, asked: object[] = []) {
  const source = {
    fetch: async (request: object) => {
      asked.push(request);
      return { lagMessages } as RawAnswer;
    },
  } as RestSource;
  return askAvailability(source, () => outcome, FROM_MS, SIGNAL);
}

const later = FROM_MS + 60_000;
const ofContract = { earliestOffset: 1n };
const moved = { ...ofContract, clamped: 'retention' as const };

test.each<[about: string, outcome: BatchOutcome, kind: Availability['kind'], firstMs: number | undefined]>([
  ['says that it has moved the time', batch(later, moved), 'part', later],
  ['says that it has moved the time, and has no message', batch(undefined, moved), 'nothing', undefined],
  ['has not moved the time', batch(later, ofContract), 'all', later],
  ['has not moved the time, and has no message', batch(undefined, ofContract), 'all', undefined],
  ['has moved a time of the future', batch(later, { ...ofContract, clamped: 'future' }), 'all', later],
  ['says nothing, and begins later', batch(later), 'unknown', later],
  ['says nothing, and has a message of that time', batch(FROM_MS), 'all', FROM_MS],
  ['says nothing, and has no message', batch(undefined), 'nothing', undefined],
])('what an upstream still has that %s', async (_, outcome, kind, firstMs) => {
  expect(await availability(outcome)).toEqual({ kind, firstMs, messages: undefined });
});

test('one message is read, and it counts with the messages after it', async () => {
  const asked: object[] = [];
  expect(await availability(batch(FROM_MS, ofContract), 41, asked)).toMatchObject({ messages: 42 });
  expect(await availability(batch(undefined, ofContract), 0)).toMatchObject({ messages: 0 });
  expect(asked).toEqual([
    { ask: { kind: 'timestamp', timestampMs: FROM_MS }, messagesMax: 1, waitSeconds: 0, signal: SIGNAL },
  ]);
});

test.each([
  [true, TransientError],
  [false, TerminalError],
])('an error of the upstream that can pass (%s) is one here', async (retryable, type) => {
  const outcome: ReadOutcome = {
    kind: 'error',
    code: 'Away',
    status: 503,
    message: 'not now',
    retryable,
    aboutPosition: 'no',
    retryAfterMs: undefined,
    earliestOffset: undefined,
    nextOffset: undefined,
    epoch: undefined,
  };
  const failure = availability(outcome);
  await expect(failure).rejects.toBeInstanceOf(type);
  await expect(failure).rejects.toMatchObject({
    code: 'Away',
    message: 'the upstream cannot be read: not now',
  });
});

const gap = { fromMs: FROM_MS, toMs: FROM_MS + 10_000, detectedAtMs: FROM_MS + 20_000 };
const answer = (kind: Availability['kind'], firstMs?: number): Availability => ({
  kind,
  firstMs,
  messages: undefined,
});

test.each<
  [about: string, answer: Availability | TransientError, available: Availability['kind'], note: unknown]
>([
  ['all of it', answer('all', FROM_MS), 'all', undefined],
  [
    'a part of it',
    answer('part', FROM_MS + 9_999),
    'part',
    expect.stringContaining('no longer has messages before'),
  ],
  [
    'nothing of it, only the message after it',
    answer('part', FROM_MS + 10_000),
    'nothing',
    expect.stringContaining('no longer has any message'),
  ],
  [
    'nothing of it, only later messages',
    answer('unknown', FROM_MS + 15_000),
    'nothing',
    expect.stringContaining('no longer has any message'),
  ],
  ['nothing at all', answer('nothing'), 'nothing', expect.stringContaining('no longer has any message')],
  ['maybe all of it', answer('unknown', FROM_MS + 1), 'unknown', expect.stringContaining('does not report')],
  ['what cannot be found out now', new TransientError('Away', 'start it'), 'unknown', 'start it'],
])('of a gap, an upstream has %s', (_, given, available, note) => {
  expect(availableOf(gap, given)).toEqual({ available, note });
});

test('a gap without an end lasts until it was detected', () => {
  const open = { ...gap, toMs: undefined };
  expect(availableOf(open, answer('part', FROM_MS + 19_999)).available).toBe('part');
  expect(availableOf(open, answer('part', FROM_MS + 20_000)).available).toBe('nothing');
});

test('the days of pieces are those of UTC, each once, without the day that begins at an end', () => {
  const piece = (from: string, to: string) => ({
    fromMs: Date.parse(from),
    toMs: Date.parse(to),
    gapId: undefined,
    messagesExpected: undefined,
  });
  expect(
    daysOfPieces([
      piece('2026-11-20T23:59:59Z', '2026-11-22T00:00:00Z'),
      piece('2026-11-19T12:00:00Z', '2026-11-19T13:00:00Z'),
      piece('2026-11-19T13:00:00Z', '2026-11-20T00:00:00.001Z'),
    ]),
  ).toEqual(['2026-11-19', '2026-11-20', '2026-11-21']);
  expect(daysOfPieces([piece('1970-01-01T00:00:00Z', '2026-11-20T00:00:00Z')])).toHaveLength(10_000);
});
