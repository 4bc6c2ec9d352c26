import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Backfills } from '../../src/web/facts/answers.ts';
import { PipelineBackfills } from '../../src/web/pages/pipeline-backfills.tsx';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

type Backfill = Backfills['backfills'][number];
const running: Backfill = {
  id: 3,
  source: 'stream',
  from: '2026-05-16T22:00:00.000Z',
  to: '2026-05-17T08:00:00.000Z',
  table: null,
  state: 'running',
  note: null,
  startedAt: '2026-05-17T07:00:00.000Z',
  updatedAt: '2026-05-17T07:00:04.000Z',
  pieces: 6,
  piecesDone: 3,
  gaps: 0,
  messagesExpected: 36_000,
  messagesLanded: 1_250,
  progress: { part: 0.34, messagesRead: 12_000 },
};
const shown = (backfills: Backfill[], { mayOperate = true, total = backfills.length } = {}) =>
  renderPart(
    PipelineBackfills,
    {},
    { backfills: { backfills, total } },
    { workgroup: { id: 'home', maySeeAll: true, mayCorrect: true, mayOperate, mayAudit: true } },
  ).lines;
/** The cells of the row of the only backfill. */
const cellsOf = (backfill: Backfill) => shown([backfill])[5]!.split(' | ');
const started = '3 hours ago <May 17, 2026, 09:00 (Europe/Berlin)>';

test('without backfills the past can be read again, but only by an operator', () => {
  const none = ['Backfills', '[Read the past again]', 'No backfill', 'Nothing of the past was read again.'];
  expect(shown([])).toEqual(none);
  expect(shown([], { mayOperate: false })).toEqual(none.toSpliced(1, 1));
});

test('each backfill has its progress or its end, and can be cancelled before', () => {
  const backfills: Backfill[] = [
    running,
    { ...running, id: 2, state: 'interrupted', source: 'archive', table: 'meter', to: null },
    { ...running, id: 1, state: 'done', source: 'gaps', from: null, to: null, note: '1 message is lost' },
    { ...running, id: 0, state: 'cancelled', source: 'quarantine', messagesLanded: 0 },
  ];
  const time = 'May 17, 2026, 00:00 – May 17, 2026, 10:00';
  expect(shown(backfills, { total: 12 })).toEqual([
    'Backfills',
    '[Read the past again]',
    '1 backfill of 12 runs now. 1 stopped before the end; the same request continues it.',
    'Backfills, newest first',
    'Backfill | What | State | New messages | Started | Note | Action',
    `3 | the stream, ${time} | {0.34} <Progress> 34 % {0.34} | 1,250 | ${started} | | [Cancel backfill 3]`,
    `2 | stored messages, May 17, 2026, 00:00 – now, table meter | [doubtful] stopped | 1,250 | ${started} | | [Cancel backfill 2]`,
    `1 | the gaps of the stream | [good] done | 1,250 | ${started} | 1 message is lost |`,
    `0 | the quarantine, ${time} | [calm] cancelled | 0 | ${started} | |`,
    '<Backfills, newest first>',
  ]);
});

test('a reader has no column of actions', () => {
  expect(shown([running], { mayOperate: false }).slice(3, 5)).toEqual([
    'Backfill | What | State | New messages | Started | Note',
    `3 | the stream, May 17, 2026, 00:00 – May 17, 2026, 10:00 | {0.34} <Progress> 34 % {0.34} | 1,250 | ${started} |`,
  ]);
});

test.each([
  [{ progress: null }, '{0.5} <Progress> 50 % {0.5}'],
  [{ progress: null, pieces: 0, piecesDone: 0 }, '{0} <Progress> 0 % {0}'],
])('without a message of the worker the progress follows from the pieces: %o', (changed, words) => {
  expect(cellsOf({ ...running, ...changed })[2]).toBe(words);
});

test('a source that the page does not know has its own name', () => {
  expect(cellsOf({ ...running, source: 'disk', from: null })[1]).toBe('disk');
});

test.each<[Array<Backfill['state']>, string]>([
  [['done'], '1 backfill, none runs now.'],
  [['done', 'done'], '2 backfills, none runs now.'],
  [['running', 'running'], '2 backfills of 2 run now.'],
  [
    ['interrupted', 'interrupted'],
    '2 backfills, none runs now. 2 stopped before the end; the same requests continue them.',
  ],
])('the sentence of %j', (states, words) => {
  expect(shown(states.map((state, id) => ({ ...running, id, state })))[2]).toBe(words);
});
