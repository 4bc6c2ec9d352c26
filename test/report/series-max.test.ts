// @module-tag slow
import { expect, test } from 'vitest';
import { dailyEnergy } from '../../src/report/daily-energy.ts';
import { type DayQuery, dayReportJson } from '../../src/report/day-report.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport } from './report-fixture.ts';

test('an answer has at most its maximum of days of devices and sources, over all months', async () => {
  const at = await openReport();
  await storeDays(
    at.shard,
    ['2026-11-29', '2026-11-30', '2026-12-01'].map((day) => ({ day, device: 1, energyWh: 1 })),
  );
  await at.publish();
  const query: DayQuery = {
    ...{ startDay: '2026-11-01', endDay: '2026-12-31', zone: 'Etc/UTC' },
    ...{ bySource: true, splits: false, devices: undefined },
  };
  const generation = await at.lake.newestGeneration(WORKGROUP);
  const ask = (seriesMax: number, more: Partial<DayQuery> = {}) =>
    dayReportJson({ ...dailyEnergy, seriesMax }, at.lake, generation, { ...query, ...more });
  const refused = {
    code: 'InvalidRequest',
    message:
      'the answer would need 3 days of devices and sources, but it can have at most 2; ask for fewer days or devices',
  };
  expect(Buffer.concat((await ask(3)).parts).toString()).toContain('"2026-12-01":{"');
  await expect(ask(2)).rejects.toMatchObject(refused);
  // The files have more rows than the answer.
  expect(Buffer.concat((await ask(2, { startDay: '2026-11-30' })).parts).toString()).toContain(
    '"2026-12-01":{"',
  );
});
