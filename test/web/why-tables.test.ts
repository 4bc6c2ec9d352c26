import { expect, test } from 'vitest';
import type { Explained } from '../../src/web/facts/answers.ts';
import { ReadingTable, StreamTable, SumTable, VersionTable } from '../../src/web/pages/why-tables.tsx';
import { makeExplained, makeSource } from './support/make-explained.ts';
import { renderPart } from './support/render-part.ts';

const segment = {
  from: '2026-05-15T22:00:00.000Z',
  to: '2026-05-16T10:00:30.000Z',
  fromWh: 1_000,
  toWh: 1_500.25,
  energyWh: 500,
  begins: 'midnight',
};
const boundary = { time: segment.from, how: 'reading', indexWh: 1_000, roundedWh: 1_000 } as const;
const edge = (text: string) => ({
  ...{ ...boundary, before: null, after: null, fraction: null, power: null, text },
});

test('segments of a register are written out, and the last one ends at 24:00', () => {
  const segments = [
    segment,
    { ...segment, from: segment.to, to: '2026-05-16T22:00:00.000Z', begins: 'register_change' },
  ];
  const boundaries = { start: edge('a reading at 1,000 Wh'), end: edge('between two readings') };
  const source = makeSource({ segments, boundaries });
  expect(renderPart(SumTable, { source, dayEnd: '2026-05-16T22:00:00.000Z' }).lines).toEqual([
    'Segments of the register',
    'Time | Index at the start, Wh | Index at the end, Wh | Energy | Begins with',
    '00:00:00 – 12:00:30 | 1,000 | 1,500.25 | 500 Wh | midnight',
    '12:00:30 – 24:00:00 | 1,000 | 1,500.25 | 500 Wh | register change',
    '<Segments of the register>',
    'The day begins: a reading at 1,000 Wh. It ends: between two readings.',
  ]);
  const alone = makeSource({ segments: [segment], boundaries: null });
  expect(renderPart(SumTable, { source: alone, dayEnd: '' }).lines.at(-1)).toBe('<Segments of the register>');
});

test('without segments there is nothing to add up', () => {
  expect(renderPart(SumTable, { source: makeSource({}), dayEnd: '' }).lines).toEqual([]);
});

const reading: Explained['sources'][number]['readings'][number] = {
  time: '2026-05-15T22:00:05.000Z',
  value: 1_234.5678,
  fate: 'used',
  reason: null,
  text: null,
  indexWh: null,
  batch: 'b1',
  landedAt: null,
};
const readings = [
  reading,
  {
    ...reading,
    time: '2026-05-15T22:15:00.000Z',
    value: null,
    text: 'n/a',
    fate: 'rejected' as const,
    reason: 'it is no number',
  },
  { ...reading, time: '2026-05-15T22:30:00.000Z', value: null, fate: 'excluded' as const },
];
const shownReadings = (source: Parameters<typeof makeSource>[0], mayCorrect = true) =>
  renderPart(
    ReadingTable,
    { explained: makeExplained({}), source: makeSource(source), onPick: () => undefined },
    {},
    { workgroup: { id: 'home', maySeeAll: true, mayCorrect, mayOperate: false, mayAudit: false } },
  ).lines;

test('a reading can be left out, unless it is left out already', () => {
  expect(shownReadings({ readings })).toEqual([
    '[checkbox: false]Only readings that are not used',
    'Readings',
    'Time (Europe/Berlin) | Value, Wh | What became of it | Why | Correct',
    'May 16, 2026, 00:00:05 | 1,234.568 | used | | [Leave out the reading of 00:00:05]',
    'May 16, 2026, 00:15:00 | n/a | rejected | it is no number |',
    'May 16, 2026, 00:30:00 | – | excluded | |',
    '<Readings>',
    '[Download CSV]',
  ]);
});

test('a token that may not correct sees the readings only; a power has its own unit', () => {
  const result = { ...makeSource({}).result!, method: 'power_curve' as const };
  expect(shownReadings({ readings: [reading], result }, false)).toEqual([
    '[checkbox: false]Only readings that are not used',
    'Readings',
    'Time (Europe/Berlin) | Value, W | What became of it | Why',
    'May 16, 2026, 00:00:05 | 1,234.568 | used |',
    '<Readings>',
    '[Download CSV]',
  ]);
});

test('readings that are not listed are counted', () => {
  expect([shownReadings({ readingsLeftOut: 1 })[1], shownReadings({ readingsLeftOut: 2_500 })[1]]).toEqual([
    '1 more reading is not listed.',
    '2,500 more readings are not listed.',
  ]);
});

test('fields have what they measured, and why they were chosen or not', () => {
  const stream = {
    ...{ place: 1, table: 'meter', field: 'energy', as: null, method: 'total_energy' as const, unit: 'kWh' },
    ...{
      chosen: true,
      reason: 'the first',
      energyWh: 500,
      coverage: 1,
      firstReading: null,
      lastReading: null,
    },
  } as const;
  const other = {
    ...stream,
    ...{ place: 2, field: 'power', method: 'power_curve' as const, unit: 'W' },
    ...{ chosen: false, reason: 'it has no readings', energyWh: null, coverage: null },
  } as const;
  expect(renderPart(StreamTable, { source: makeSource({ streams: [stream, other] }) }).lines).toEqual([
    'Fields',
    'Field | Method | Unit | Energy | Measured | Used | Why',
    'meter.energy | total energy | kWh | 500 Wh {500} | 100 % {1} | yes | the first',
    'meter.power | power curve | W | – <not known> | – | no | it has no readings',
    '<Fields>',
  ]);
});

test('the newest version comes first', () => {
  const version = {
    ...{
      version: 1,
      energyWh: 500,
      method: null,
      flags: [],
      coverage: 1,
      batch: 'b',
      changes: [],
      batches: 1,
    },
    ...{ computedAt: '2026-05-16T22:05:00.000Z', causes: [], text: 'first version' },
  };
  const second = { ...version, version: 2, energyWh: null, flags: ['gap'], text: 'withdrawn' };
  expect(renderPart(VersionTable, { source: makeSource({ versions: [version, second] }) }).lines).toEqual([
    'Versions, newest first',
    'Version | Energy | Computed | Flags | What changed, and why',
    '2 | none | May 17, 2026, 00:05 | gap <gap: power is missing for some time> | withdrawn',
    '1 | 500 Wh | May 17, 2026, 00:05 | none | first version',
    '<Versions, newest first>',
  ]);
});
