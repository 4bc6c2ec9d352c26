import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import type { Generation } from '../../src/report/lake/lake-reader.ts';
import { daysOfRange, siteReconciliation, siteVariance } from '../../src/report/site-report.ts';

const workgroup = workgroupSchema.parse({
  id: 'home',
  meters: [{ code: 'GRID' }],
  sites: [{ name: 'roof', meters: [{ code: 'GRID' }] }],
});
const generation = {
  files: (dataset: string) =>
    ['budget', 'meter_reading', 'daily_energy'].includes(dataset) ? [{ dataset, period: '2026-11' }] : [],
  path: () => '',
} as unknown as Generation;

test('the answer about a site changes with the files of its meters, and a variance with budgets too', () => {
  const asked = {
    ...{ workgroup, site: workgroup.sites[0]!, zone: 'Etc/UTC', generation },
    ...{ startDay: '2026-11-01', endDay: '2026-11-30' },
  };
  const datasets = ({ files }: { files: unknown[] }) =>
    (files as Array<{ dataset: string }>).map(({ dataset }) => dataset);
  const variance = siteVariance(asked, { scenario: undefined, today: '2026-11-20' });
  expect(datasets(siteReconciliation(asked))).toEqual(['meter_reading']);
  expect(datasets(variance)).toEqual(['meter_reading', 'budget']);
});

test('the days of a range are those from its first to its last day', () => {
  expect(daysOfRange({ startDay: '2026-02-27', endDay: '2026-03-01' })).toEqual([
    ...['2026-02-27', '2026-02-28', '2026-03-01'],
  ]);
});
