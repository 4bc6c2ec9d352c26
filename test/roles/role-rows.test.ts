import { expect, test } from 'vitest';
import { peakRows, roleSpanRows } from '../../src/roles/role-rows.ts';

test('a peak power is valid until the day before the next one, in whatever order they are listed', () => {
  const peakPower = [{ kWp: 12, from: '2026-06-01' }, { kWp: 5 }, { kWp: 9.6, from: '2026-03-01' }];
  const rows: unknown = JSON.parse(peakRows([{ id: 'roof', peakPower }, { id: 'other' }]));
  expect(rows).toEqual([
    { device: 'roof', kwp: 5, valid_to: '2026-02-28' },
    { device: 'roof', kwp: 9.6, valid_from: '2026-03-01', valid_to: '2026-05-31' },
    { device: 'roof', kwp: 12, valid_from: '2026-06-01' },
  ]);
});

test('a span of a role is a row, with the source that contains it or the mark that the site does', () => {
  const span = { device: 'd', source: 's', role: 'grid_import', from: '2026-01-01', to: undefined } as const;
  const rows = roleSpanRows([
    { ...span, negativeRole: 'grid_export', within: { device: 'e', source: 't' } },
    { ...span, negativeRole: undefined, within: 'site' },
    { ...span, negativeRole: undefined, within: undefined },
  ]);
  const row = { device: 'd', source: 's', role: 'grid_import', valid_from: '2026-01-01' };
  expect(JSON.parse(rows)).toEqual([
    { ...row, negative_role: 'grid_export', within_device: 'e', within_source: 't', within_site: false },
    { ...row, within_site: true },
    { ...row, within_site: false },
  ]);
});
