import { expect, test } from 'vitest';
import { alertConditions } from '../../src/alerts/alert-conditions.ts';
import type { AlertFacts, DayFact } from '../../src/alerts/alert-facts.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { TEST_START_MS as NOW_MS } from '../support/test-clock.ts';

/** Facts of which nothing else is known. */
const factsOf = (facts: Partial<AlertFacts>): AlertFacts => ({
  ...{ nowMs: NOW_MS, retentionMs: DAY_MS, nameOf: (device) => device },
  ...facts,
});
const limit = 5 * MINUTE_MS;

/** What a condition says about one subject. */
type Said = 'nothing' | 'unclear' | 'certain';
function said(found: ReadonlyArray<{ isUnclear?: true }> | undefined): Said {
  const [first] = found!;
  if (first === undefined) return 'nothing';
  return first.isUnclear ? 'unclear' : 'certain';
}

test.each<[said: Said, input: { disconnectedMs: number | null; losses: number }]>([
  ['nothing', { disconnectedMs: null, losses: 0 }],
  // One lost connection can be a restart of the broker.
  ['nothing', { disconnectedMs: null, losses: 1 }],
  ['unclear', { disconnectedMs: null, losses: 2 }],
  ['certain', { disconnectedMs: null, losses: 3 }],
  ['unclear', { disconnectedMs: limit - 1, losses: 0 }],
  ['certain', { disconnectedMs: limit, losses: 0 }],
  ['certain', { disconnectedMs: 0, losses: 3 }],
])('it is %s about an input with %o', (what, input) => {
  const inputs = [{ ...input, input: 'garage', address: 'mqtt://broker' }];
  expect(said(alertConditions.inputDisconnected.find(factsOf({ inputs }), { limit, for: 0 }))).toBe(what);
});

test.each<[said: Said, stage: { failingMs: number; isAtWork: boolean; hasSucceeded: boolean }]>([
  ['nothing', { failingMs: limit - 1, isAtWork: false, hasSucceeded: true }],
  ['unclear', { failingMs: limit - 1, isAtWork: false, hasSucceeded: false }],
  ['certain', { failingMs: limit, isAtWork: false, hasSucceeded: true }],
  ['certain', { failingMs: limit, isAtWork: false, hasSucceeded: false }],
  ['unclear', { failingMs: limit, isAtWork: true, hasSucceeded: true }],
])('it is %s about a stage with %o', (what, stage) => {
  const stages = [{ ...stage, stage: 'rollup', why: 'late' }];
  expect(said(alertConditions.stageLate.find(factsOf({ stages }), { limit, for: 0 }))).toBe(what);
});

test('the percent of a sentence has at most two decimals', () => {
  const budgets = [{ site: 'roof', month: '2026-11', actualWh: 0, budgetWh: 1 }];
  const [budget] = alertConditions.budget.find(factsOf({ budgets }), { limit: 0.07, for: 0 })!;
  expect(budget!.text).toContain('more than 7 % below');
  const lastHour = { messages: 0, quarantined: 1 };
  const [quarantine] = alertConditions.quarantine.find(factsOf({ lastHour }), { limit: 0.00057, for: 0 })!;
  expect(quarantine!.text).toContain('more than 0.06 % of');
  const disk = { freeBytes: 0, sizeBytes: 1, folder: '/data', machine: 'plant-1' };
  const [full] = alertConditions.disk.find(factsOf({ disk }), { limit: 0.07, for: 0 })!;
  expect(full!.text).toContain('less than 7 % of');
});

test('a gap names its time only if both ends are known', () => {
  const gap = { gapId: 1, reason: 'expired', fromMs: NOW_MS, toMs: NOW_MS + HOUR_MS };
  const gaps = [gap, { ...gap, fromMs: null }, { ...gap, toMs: null }];
  const texts = alertConditions.gap.find(factsOf({ gaps }), { for: 0 })!.map(({ text }) => text);
  expect(texts[0]).toContain('from 2026-11-20T12:00:00.000Z to 2026-11-20T13:00:00.000Z');
  expect(texts.slice(1)).toEqual(Array(2).fill('a part of the stream could not be read (expired)'));
});

test('each flag, and each version, of a day is an alarm, and ends when the day is out of sight', () => {
  const day: DayFact = { day: '2026-11-18', device: 'd1', source: 'pv', seenUntilMs: NOW_MS };
  const flaggedDays = ['gap', 'reset', 'substituted'].map((flag) => ({ ...day, flag }));
  const flagged = alertConditions.dayFlagged.find(factsOf({ flaggedDays }), {
    limit: ['reset', 'substituted'],
    for: 0,
  })!;
  expect(flagged.map(({ subject }) => subject)).toEqual([
    '2026-11-18 d1 pv reset',
    '2026-11-18 d1 pv substituted',
  ]);
  const restatedDays = [2, 3].map((version) => ({ ...day, version, beforeWh: null, afterWh: 1_000 }));
  const restated = alertConditions.dayRestated.find(factsOf({ restatedDays }), { for: 0 })!;
  expect(restated.map(({ subject }) => subject)).toEqual(['2026-11-18 d1 pv 2', '2026-11-18 d1 pv 3']);
  expect([...flagged, ...restated].map(({ lastsUntilMs }) => lastsUntilMs)).toEqual(Array(4).fill(NOW_MS));
});
