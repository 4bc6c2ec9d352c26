import { expect, test } from 'vitest';
import { describeExplained } from '../../src/cli/explain/explain-view.ts';
import type { Explained, ExplainedSource, Version } from '../../src/explain/explained-schema.ts';
import { makeExplained, makeSource } from '../web/support/make-explained.ts';
import { linesOf } from './explained-page.ts';

const at = (minute: number) => `2026-07-01T08:${String(minute).padStart(2, '0')}:30.500Z`;
const none = { value: null, from: 'none', text: 'no limit' };
const result = {
  ...{ energyWh: 1_500, method: 'total_energy', table: 't', field: 'total', status: 'final' },
  ...{ version: 2, computedAt: at(9) },
};
const plain = makeSource({
  source: 'roof',
  result: result as ExplainedSource['result'],
  measuredWh: 1_500,
  sum: { energyWh: 1_500, exactWh: null, agrees: true, text: 'it adds up' },
});

/** The page of a day of UTC with these sources. */
function pageOf(sources: object[], more: object = {}): string {
  const explained = makeExplained({
    ...{ name: null, device: 'd-1', day: '2026-07-01', timezone: 'Etc/UTC', text: 'All is well.' },
    ...{ start: '2026-07-01T00:00:00.000Z', end: '2026-07-02T00:00:00.000Z' },
    sources: sources.map((one) => ({ ...plain, ...one })),
    ...more,
  });
  return describeExplained(explained as Explained, { all: false });
}

test('the limits have their units, and the maximum power of a register is shown even if there is none', () => {
  const some = (value: number) => ({ value, from: 'learnt', text: 'learnt' });
  const limits = {
    ...{ maxPowerW: none, jitterWh: some(20), resolutionWh: some(0.5), modulusWh: none },
    ...{ maxGapMilliseconds: some(3_600_000), intervalMilliseconds: none },
  };
  const known = ['jitter | 20 Wh | learnt', 'resolution | 0.5 Wh | learnt', 'longest gap | 1 h | learnt'];
  expect(linesOf(pageOf([{ limits }]), 'Limits')).toEqual(known);
  const boundary = { time: at(0), indexWh: 5, roundedWh: 5, how: 'daily_register', text: 'it says so' };
  const boundaries = { start: boundary, end: boundary };
  expect(linesOf(pageOf([{ limits, boundaries }]), 'Limits')).toEqual([
    'most power | - | no limit',
    ...known,
  ]);
});

test('a correction has its author and reason, and the measured energy if it is another than the reported one', () => {
  const correction = {
    id: 3,
    text: 'sets 1,500 Wh',
    author: 'anna',
    at: at(7),
    reason: 'the meter was away',
  };
  const measuredOf = (more: Partial<ExplainedSource>) =>
    linesOf(pageOf([{ corrections: [correction], ...more }]), 'Corrections').slice(2);
  expect(linesOf(pageOf([{ corrections: [correction] }]), 'Corrections')).toEqual([
    '3 | sets 1,500 Wh',
    'by anna, 08:07:30: the meter was away',
  ]);
  expect(measuredOf({ measuredWh: 1_500 })).toEqual([]);
  expect(measuredOf({ measuredWh: 900 })).toEqual(['Measured energy without corrections: 900 Wh']);
  expect(measuredOf({ measuredWh: null })).toEqual(['Measured energy without corrections: nothing']);
  expect(measuredOf({ measuredWh: null, result: null })).toEqual([]);
  expect(linesOf(pageOf([{ measuredWh: 900 }]), 'Corrections')).toEqual([]);
});

test('a version has its batches, at most three, unless it is the first one of one batch', () => {
  const cause = { batch: '7', origin: 'stream', landedAt: at(8), readings: 2, from: at(1), to: at(2) };
  const version = (more: Partial<Version>) => ({
    ...{ version: 1, energyWh: 1_500, computedAt: at(9), text: 'the first one', batches: 1, causes: [cause] },
    ...more,
  });
  const lines = (...versions: object[]) => linesOf(pageOf([{ versions }]), 'Versions');
  const first = '1 | 1,500 Wh, computed 08:09:30: the first one';
  const told = 'batch 7 from stream, landed 08:08:30: 2 readings of 08:01:30.500 to 08:02:30.500';
  expect(lines(version({}))).toEqual([first]);
  expect(lines(version({}), version({ version: 2, energyWh: null, text: 'no readings' }))).toEqual([
    ...[first, told, '2 | withdrawn, computed 08:09:30: no readings', told],
  ]);
  const unknown = { ...cause, origin: null, landedAt: null, readings: 1, to: at(1) };
  const many = version({ batches: 5, causes: [cause, cause, unknown, cause] as Version['causes'] });
  expect(lines(many)).toEqual([
    ...[first, told, told, 'batch 7 from ?, landed ?: 1 reading of 08:01:30.500'],
    'and 2 more batches',
  ]);
  expect(lines({ ...many, batches: 4 }).at(-1)).toBe('and 1 more batch');
});

test('the reason of a flag is left out where the page says it already', () => {
  const flag = (name: string, reason: string) => ({ flag: name, meaning: 'it is so', reason });
  const events = [{ kind: 'counter_reset', text: 'it began at zero' }];
  const flags = [
    flag('incomplete', 'all of the day'),
    flag('reset', 'at noon it began at zero'),
    flag('daily_register', 'because of it'),
    flag('spike', ''),
  ];
  const page = pageOf([{ flags, events }]);
  expect(linesOf(page, 'What happened')).toEqual(['counter reset: it began at zero']);
  expect(linesOf(page, 'Flags')).toEqual([
    ...[
      'incomplete: it is so',
      'reset: it is so',
      'daily register: it is so (because of it)',
      'spike: it is so',
    ],
  ]);
});

test('fields without readings share one line below the others', () => {
  const field = { table: 't', as: null, method: 'power_curve', unit: 'W', reason: 'it covers all' };
  const streams = [
    { ...field, field: 'total', chosen: true, energyWh: 1_500, firstReading: at(0) },
    { ...field, field: 'power', chosen: false, energyWh: null, firstReading: at(0), as: 'east' },
    { ...field, field: 'x', chosen: false, energyWh: null, firstReading: null, as: 'west' },
    { ...field, field: 'y', chosen: false, energyWh: null, firstReading: null },
  ];
  expect(linesOf(pageOf([{ streams }]), 'Fields, in the order of the configuration').slice(1)).toEqual([
    '* | t.total | power_curve | W | 1,500 | it covers all',
    't.power, as east | power_curve | W | - | it covers all',
    'without readings of this source: t.x, as west; t.y',
  ]);
});

test('a sum that does not agree with what is stored asks for a report', () => {
  const sum = { agrees: false, text: 'it adds up to 9 Wh' };
  const wrong = (more: object) => linesOf(pageOf([{ sum, ...more }]), 'Sum')[1];
  expect(linesOf(pageOf([{}]), 'Sum')).toEqual(['it adds up']);
  expect(wrong({})).toBe('This does not agree with what is stored: 1,500 Wh are stored. Please report it.');
  expect(wrong({ result: null })).toContain('no energy is stored');
});

test('sources that are no part of the sum have a line only, with the command that explains them', () => {
  const sources = [{ source: 'roof' }, { source: "the o'ther", result: null }];
  const page = pageOf(sources, { countingSources: ['roof'], takenIn: { batchesWaiting: 2 }, name: 'Garage' });
  expect(page.split('\n')[0]).toBe('Garage (d-1), 2026-07-01, Etc/UTC, 24 h');
  expect(page).toContain('2 batches are not rolled up yet, so the energy can change\n');
  expect(page).toContain(
    'Source roof: 1,500 Wh by total_energy of t.total, final, version 2, computed 08:09:30\n',
  );
  expect(page).toContain(
    String.raw`Source the o'ther: no energy
  not part of the sum of the device; --source 'the o'\''ther' explains it`,
  );
  expect(pageOf([{ source: 'roof' }])).not.toContain('not part of the sum');
});

test('a day without energy has the known fields and the nearest days, which a wrong source does not have', () => {
  const reading = { source: 'roof', table: 't', field: 'total', as: null, method: 'total_energy' };
  const known = [{ ...reading, firstReading: at(1), lastReading: at(2) }];
  const nearestDays = { before: '2026-06-30', after: null };
  const page = (outcome: string) => pageOf([], { known, nearestDays, outcome });
  expect(linesOf(page('no_day'), 'Readings of the device')[1]).toBe(
    'roof | t.total | total_energy | 08:01:30.500 | 08:02:30.500',
  );
  const near = '\nthe last day with energy before it is 2026-06-30\n';
  expect(page('no_day')).toContain(near);
  expect(page('unknown_source')).not.toContain(near);
  expect(page('unknown_source')).toContain('t.total');
  expect(pageOf([], { known: [], nearestDays, outcome: 'no_day' })).not.toContain('Readings of the device');
});
