import { expect, test } from 'vitest';
import { listFieldUses } from '../../src/import/field-uses.ts';
import { summarizeFields } from '../../src/import/import-summary.ts';
import { testWorkgroup } from './settings.ts';

const { energyStreams } = testWorkgroup({
  energyStreams: [
    { table: 'grid', field: 'wh', method: 'total_energy', unitField: 'unit' },
    { table: 'grid', field: 'wh', method: 'daily_energy', unit: 'kWh', as: 'daily' },
    { table: 'solar', field: 'power', method: 'power_curve', unit: 'W' },
  ],
});
const uses = listFieldUses('grid', energyStreams);

test('each field of the files has its values, the streams that read it, and what was rejected', () => {
  const summary = summarizeFields(uses, {
    values: [
      { field: 'wh', value_count: 100 },
      { field: 'unit', value_count: 90 },
      { field: 'state', value_count: 80 },
    ],
    taken: [{ position: 0, readings: 70 }],
    rejected: [
      { field: 'wh', reason: 'too_high', readings: 3 },
      { field: 'wh', reason: 'negative', readings: 2 },
    ],
  });
  expect(summary).toMatchObject([
    {
      field: 'wh',
      values: 100,
      streams: [
        { position: 0, isUnit: false, taken: 70 },
        { position: 1, isUnit: false, as: 'daily', taken: 0 },
      ],
    },
    // A unit gives no energy of its own.
    { field: 'unit', values: 90, streams: [{ position: 0, isUnit: true, taken: 0 }] },
    { field: 'state', values: 80, streams: [] },
  ]);
  expect(summary.map(({ rejected }) => rejected)).toEqual([{ too_high: 3, negative: 2 }, {}, {}]);
});

test('if the messages are deleted, the fields with readings are known, and not their values', () => {
  const taken = [{ position: 1, readings: 5 }];
  expect(summarizeFields(uses, { values: [], taken, rejected: [] })).toMatchObject([
    { field: 'wh', values: null, streams: [{ taken: 0 }, { taken: 5 }] },
  ]);
  expect(summarizeFields(uses, { values: [], taken: [], rejected: [] })).toEqual([]);
});
