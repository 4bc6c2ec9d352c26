import { expect, test } from 'vitest';
import {
  createBackfillView,
  describeBackfillOutcome,
  describeBackfills,
  describeGaps,
  describePlan,
} from '../../src/cli/backfill/backfill-view.ts';
import { linesOf, terminalOf } from './terminal-of.ts';

const fromMs = Date.UTC(2026, 4, 17, 8);
const toMs = Date.UTC(2026, 4, 17, 9);
const wide = Number.POSITIVE_INFINITY;

test('a plan has its pieces, what it costs, the days, and the messages of the quarantine that can be read now', () => {
  const plan = {
    source: 'stream' as const,
    pieces: [
      { fromMs, toMs, gapId: 3, messagesExpected: 12_345 },
      { fromMs, toMs, gapId: undefined, messagesExpected: undefined },
    ],
    requests: 1_200,
    days: ['2026-05-16', '2026-05-17'],
    messages: 12_345,
    quarantined: { kept: 10, readable: 4 },
    unfillable: [],
    notes: ['the rest is gone'],
  };
  expect(linesOf(describePlan(plan))).toEqual([
    'From                      To                        Gap  Messages',
    '2026-05-17T08:00:00.000Z  2026-05-17T09:00:00.000Z    3    12,345',
    '2026-05-17T08:00:00.000Z  2026-05-17T09:00:00.000Z    -         ?',
    '2 pieces, 12,345 messages, 1,200 requests or more, days 2026-05-16 to 2026-05-17 (2)',
    '  4 of 10 quarantined messages can be decoded now',
    '  the rest is gone',
  ]);
  expect(describePlan({ ...plan, source: 'archive', messages: undefined, days: [] })).toContain(
    '2 pieces, an unknown number of messages, no request to the upstream\n',
  );
  const single = {
    ...plan,
    ...{ pieces: plan.pieces.slice(0, 1), requests: 1, messages: 1, quarantined: { kept: 1, readable: 1 } },
  };
  expect(linesOf(describePlan(single)).slice(2, 4)).toEqual([
    '1 piece, 1 message, 1 request or more, days 2026-05-16 to 2026-05-17 (2)',
    '  1 of 1 quarantined message can be decoded now',
  ]);
  expect(linesOf(describePlan({ ...plan, pieces: [], quarantined: { kept: 0, readable: 0 } }))).toEqual([
    'nothing to read',
    '  the rest is gone',
  ]);
});

test('the outcome names new messages, closed gaps, and that a backfill was continued', () => {
  const outcome = {
    kind: 'done' as const,
    backfillId: 7,
    messagesRead: 5_000,
    messagesLanded: 1_200,
    gapsFilled: [],
    notes: [],
    resumed: false,
    lastBatchId: 1,
  };
  expect(describeBackfillOutcome(outcome)).toBe('backfill 7: 5,000 messages read, 1,200 of them new\n');
  expect(describeBackfillOutcome({ ...outcome, messagesRead: 1, messagesLanded: 1 })).toBe(
    'backfill 7: 1 message read, 1 of them new\n',
  );
  expect(
    describeBackfillOutcome({ ...outcome, gapsFilled: [3, 4], notes: ['a part is gone'], resumed: true }),
  ).toBe(
    'backfill 7: 5,000 messages read, 1,200 of them new; gaps closed: 3, 4; continued where it had stopped\n  a part is gone\n',
  );
});

test('gaps say what the upstream has, and how to read it if it has any of it', () => {
  const gap = { gapId: 1, fromMs, toMs, reason: 'expired', detectedAtMs: toMs, note: undefined };
  expect(describeGaps([], wide)).toBe('nothing is missing\n');
  const gone = describeGaps([{ ...gap, available: 'nothing' }], wide);
  expect(linesOf(gone)[1]).toBe('  1  2026-05-17T08:00:00.000Z  2026-05-17T09:00:00.000Z  expired  nothing');
  expect(gone).not.toContain('--gaps');
  expect(
    describeGaps(
      [
        { ...gap, available: 'nothing' },
        { ...gap, available: 'part' },
      ],
      wide,
    ),
  ).toMatch(/\n"wattline backfill --gaps" reads what the upstream still has\n$/);
});

test('the list of backfills has one without an end, of all tables', () => {
  expect(describeBackfills([], wide)).toBe('no backfill yet\n');
  const listed = {
    backfillId: 2,
    source: 'archive',
    fromMs,
    toMs: undefined,
    table: undefined,
    state: 'running' as const,
    note: undefined,
    startedAtMs: fromMs,
    updatedAtMs: toMs,
    pieces: 12,
    piecesDone: 5,
    messagesExpected: undefined,
    messagesLanded: 34_567,
    gaps: 0,
  };
  expect(linesOf(describeBackfills([listed], wide))[1]).toBe(
    ' 2  archive  2026-05-17T08:00:00.000Z  -   all    running    5/12        34,567  2026-05-17T08:00:00.000Z  2026-05-17T09:00:00.000Z',
  );
});

test('the progress has a rate, and the time that is left by the speed of this run', () => {
  const { terminal, written } = terminalOf({ isInteractive: true });
  let nowMs = 0;
  const view = createBackfillView(terminal, () => nowMs);
  const progress = { backfillId: 7, pieces: 4, piecesDone: 2, messagesRead: 0, messagesLanded: 0, part: 0.5 };
  view.show({ kind: 'reading', progress: { ...progress, backfillId: undefined } });
  view.show({ kind: 'reading', progress });
  nowMs = 10_000;
  view.show({
    kind: 'reading',
    progress: { ...progress, messagesRead: 5_000, messagesLanded: 40, part: 0.75 },
  });
  view.show({ kind: 'after', part: 0.999 });
  view.show({ kind: 'after', part: 1 });
  expect(written()).toEqual([
    'asking for the available messages',
    'backfill 7  [############............]  50 %  0 messages read, 0 new',
    'backfill 7  [##################......]  75 %  5,000 messages read, 40 new  500/s  10 s left',
    'rolling up and publishing 99 %',
    'rolled up, publishing',
  ]);
});
