import { expect, test } from 'vitest';
import type { BackfillJobState } from '../../src/backfill/backfill-job.ts';
import type { ListedBackfill } from '../../src/backfill/backfill-ledger.ts';
import type { OpenGap } from '../../src/backfill/plan-gaps.ts';
import {
  backfillAnswer,
  backfillRows,
  gapRows,
  gapsAnswer,
  planAnswer,
} from '../../src/operate/backfill-answers.ts';

const AT_MS = Date.UTC(2026, 10, 20);
const AT = '2026-11-20T00:00:00.000Z';
const gap = (gapId: number, more: Partial<OpenGap> = {}): OpenGap => ({
  gapId,
  reason: 'expired',
  fromMs: AT_MS,
  toMs: undefined,
  detectedAtMs: AT_MS,
  note: undefined,
  available: 'part',
  ...more,
});
const backfill = (more: Partial<ListedBackfill> = {}): ListedBackfill => ({
  backfillId: 7,
  source: 'stream',
  fromMs: AT_MS,
  toMs: undefined,
  table: undefined,
  state: 'running',
  note: undefined,
  startedAtMs: AT_MS,
  updatedAtMs: AT_MS + 1,
  pieces: 4,
  piecesDone: 1,
  messagesExpected: undefined,
  messagesLanded: 30,
  gaps: 2,
  ...more,
});
const running = (backfillId: number) =>
  ({ kind: 'running', progress: { backfillId, part: 0.25, messagesRead: 40 } }) as Extract<
    BackfillJobState,
    { kind: 'running' }
  >;

test('gaps are listed with the newest first, 200 at most, and all are counted', () => {
  const all = Array.from({ length: 201 }, (_, index) => gap(index + 1));
  const { gaps, total } = gapsAnswer(all);
  expect([gaps.length, gaps[0]!.id, gaps.at(-1)!.id, total]).toEqual([200, 201, 2, 201]);
  const answer = gapsAnswer([gap(1, { toMs: AT_MS + 1_000, note: 'half of it' })]);
  expect(answer.gaps).toEqual([
    {
      ...{ id: 1, reason: 'expired', from: AT, to: '2026-11-20T00:00:01.000Z', detectedAt: AT },
      ...{ available: 'part', note: 'half of it' },
    },
  ]);
  expect(gapsAnswer([gap(1)]).gaps[0]).toMatchObject({ to: null, note: null });
  const rows = gapRows(answer);
  expect(rows.columns.map((name) => rows.rows[0]![name])).toEqual([
    ...[1, 'expired', AT, '2026-11-20T00:00:01.000Z', AT, 'part', 'half of it'],
  ]);
});

test.each<[what: string, ListedBackfill, ReturnType<typeof running> | undefined, object]>([
  [
    'a worker works on',
    backfill(),
    running(7),
    { state: 'running', progress: { part: 0.25, messagesRead: 40 } },
  ],
  ['no worker works on', backfill(), undefined, { state: 'interrupted', progress: null }],
  [
    'waits while a worker works on another one',
    backfill(),
    running(8),
    { state: 'interrupted', progress: null },
  ],
  ['has ended', backfill({ state: 'done' }), running(7), { state: 'done', progress: null }],
])('a backfill that %s', (_, listed, at, answer) => {
  expect(backfillAnswer(listed, at)).toMatchObject(answer);
});

test('a backfill is answered with its request and its counts, also as a row', () => {
  const answer = backfillAnswer(
    backfill({ toMs: AT_MS + 1_000, table: 'solar', note: 'slow', messagesExpected: 100 }),
    running(7),
  );
  expect(answer).toEqual({
    ...{
      id: 7,
      source: 'stream',
      from: AT,
      to: '2026-11-20T00:00:01.000Z',
      table: 'solar',
      state: 'running',
    },
    ...{
      note: 'slow',
      startedAt: AT,
      updatedAt: '2026-11-20T00:00:00.001Z',
      pieces: 4,
      piecesDone: 1,
      gaps: 2,
    },
    ...{ messagesExpected: 100, messagesLanded: 30, progress: { part: 0.25, messagesRead: 40 } },
  });
  const { columns, rows } = backfillRows([answer, { ...answer, progress: null }]);
  expect(columns.map((name) => rows[0]![name])).toEqual([
    ...[7, 'stream', AT, '2026-11-20T00:00:01.000Z', 'solar', 'running', 'slow', AT],
    ...['2026-11-20T00:00:00.001Z', 4, 1, 2, 100, 30, 0.25],
  ]);
  expect(rows[1]).toMatchObject({ progress: null });
  expect(backfillAnswer(backfill({ fromMs: undefined }), undefined)).toMatchObject({
    ...{ from: null, to: null, table: null, note: null, messagesExpected: null },
  });
});

test('a plan has its first 1,000 days, and what cannot be filled', () => {
  const days = Array.from({ length: 1_001 }, (_, index) => `day ${index}`);
  const plan = {
    ...{ source: 'gaps' as const, requests: 3, messages: 12, days, notes: ['a note'] },
    unfillable: [{ gapId: 2, note: 'expired' }],
    quarantined: { kept: 5, readable: 4 },
    pieces: [
      { fromMs: AT_MS, toMs: AT_MS + 1_000, gapId: 1, messagesExpected: 12 },
      { fromMs: AT_MS, toMs: AT_MS, gapId: undefined, messagesExpected: undefined },
    ],
  };
  expect(planAnswer(plan)).toEqual({
    ...{ source: 'gaps', requests: 3, messages: 12, days: days.slice(0, 1_000), dayCount: 1_001 },
    ...{
      notes: ['a note'],
      unfillable: [{ gap: 2, note: 'expired' }],
      quarantined: { kept: 5, readable: 4 },
    },
    pieces: [
      { from: AT, to: '2026-11-20T00:00:01.000Z', gap: 1, messagesExpected: 12 },
      { from: AT, to: AT, gap: null, messagesExpected: null },
    ],
  });
  const { quarantined: _, ...others } = plan;
  expect(planAnswer({ ...others, messages: undefined })).toMatchObject({ messages: null, quarantined: null });
});
