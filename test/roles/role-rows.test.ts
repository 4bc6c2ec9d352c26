import { expect, test } from 'vitest';
import { peakRows } from '../../src/roles/role-rows.ts';

test('a peak power is valid until the day before the next one, in whatever order they are listed', () => {
  const peakPower = [{ kWp: 12, from: '2026-06-01' }, { kWp: 5 }, { kWp: 9.6, from: '2026-03-01' }];
  const rows: unknown = JSON.parse(peakRows([{ id: 'roof', peakPower }, { id: 'other' }]));
  expect(rows).toEqual([
    { device: 'roof', kwp: 5, valid_to: '2026-02-28' },
    { device: 'roof', kwp: 9.6, valid_from: '2026-03-01', valid_to: '2026-05-31' },
    { device: 'roof', kwp: 12, valid_from: '2026-06-01' },
  ]);
});
