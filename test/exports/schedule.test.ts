import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { duePeriods } from '../../src/exports/due-periods.ts';
import type { ExportRun } from '../../src/exports/export-ledger.ts';
import { parsePeriod, periodAt } from '../../src/exports/export-period.ts';
import { addDays, formatInstant, HOUR_MS } from '../../src/lib/time.ts';
import { storeDays } from '../publish/publish-fixture.ts';
import { openExportFixture } from './exports-fixture.ts';

test('each range is the days that are over when it is due', () => {
  // A Sunday evening in UTC, a Monday in Tokyo.
  const atMs = Date.parse('2026-03-01T20:00:00Z');
  const names = (zone: string) =>
    (
      [
        'yesterday',
        'last_7_days',
        'last_week',
        'last_month',
        'month_to_date',
        'last_year',
        'year_to_date',
      ] as const
    ).map((range) => periodAt(range, atMs, zone).name);
  expect(names('Etc/UTC')).toEqual([
    '2026-02-28',
    '2026-02-22_to_2026-02-28',
    '2026-02-16_to_2026-02-22',
    '2026-02',
    '2026-02',
    '2025',
    '2026-01-01_to_2026-02-28',
  ]);
  expect(names('Asia/Tokyo')).toEqual([
    '2026-03-01',
    '2026-02-23_to_2026-03-01',
    '2026-02-23_to_2026-03-01',
    '2026-02',
    '2026-03-01',
    '2025',
    '2026-01-01_to_2026-03-01',
  ]);
});

test('on the first day of a year, the year and the month to date are those that ended yesterday', () => {
  const atMs = Date.parse('2026-01-01T05:00:00Z');
  const names = (['month_to_date', 'year_to_date'] as const).map((range) => periodAt(range, atMs, 'Etc/UTC'));
  expect(names.map(({ name }) => name)).toEqual(['2025-12', '2025']);
});

test('of the periods that were due while nothing ran, the newest 31 are exported', () => {
  const destination = { folder: '/exports' };
  const daily = { id: 'daily', workgroup: 'acme', report: 'daily_energy', range: 'yesterday', format: 'csv' };
  const { workgroups, exports } = configSchema.parse({
    workgroups: [{ id: 'acme' }],
    exports: [{ ...daily, schedule: '0 6 * * *', destination }],
  });
  const open = { config: exports[0]!, workgroup: workgroups[0]! };
  const dueAfter = '2026-01-01T12:00:00.000Z';
  const due = (now: string) =>
    duePeriods(open, { dueAfter }, Date.parse(now)).map(({ period }) => period.name);
  expect(due('2026-02-01T05:59:59Z')).toHaveLength(30);
  expect(due('2026-02-01T06:00:00Z').slice(0, 1)).toEqual(['2026-01-01']);
  const late = due('2026-03-01T12:00:00Z');
  expect([late.length, late[0], late.at(-1)]).toEqual([31, '2026-01-29', '2026-02-28']);
});

test('a period is parsed from its name, and other texts are refused', () => {
  for (const name of ['2026-11-20', '2026-11', '2026', '2024-02', '2026-11-14_to_2026-11-20'])
    expect(parsePeriod(name)?.name).toBe(name);
  expect(parsePeriod('2026-11-01_to_2026-11-30')?.name).toBe('2026-11');
  for (const text of ['2026-13', '2026-02-30', '20', 'yesterday', '2026-11-20_to_2026-11-19', '../x', ''])
    expect(parsePeriod(text)).toBeUndefined();
});

test('a daily export runs once a day at its time, also when the clock changes', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([{ schedule: '30 2 * * *' }], { timezone: 'Europe/Berlin' });
  const first = '2026-03-27';
  await storeDays(
    at.shard,
    Array.from({ length: 5 }, (_, index) => ({ day: addDays(first, index - 1), device: 1, energyWh: index })),
  );
  await at.publish();
  at.clock.set(Date.parse('2026-03-27T12:00:00Z'));
  await at.work();
  const due: string[] = [];
  const times = ['00:00', '00:30', '01:00', '01:30', '02:00', '12:00'];
  for (const time of [1, 2, 3].flatMap((days) => times.map((one) => `${addDays(first, days)}T${one}:00Z`))) {
    await at.clock.advance(Date.parse(time) - at.clock.now());
    const before = (await at.ledger().runs()).length;
    await at.work();
    if ((await at.ledger().runs()).length > before)
      due.push(new Date(at.clock.now()).toISOString().slice(0, 16));
  }
  expect(due).toEqual(['2026-03-28T01:30', '2026-03-29T01:30', '2026-03-30T00:30']);
  expect((await at.ledger().runs()).map(({ period }) => period)).toEqual([
    '2026-03-27',
    '2026-03-28',
    '2026-03-29',
  ]);
});

test('a new export may start at once, and periods before it was configured are not exported', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([
    { schedule: '0 12 * * *' },
    { id: 'earlier', schedule: '58 11 * * *' },
  ]);
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, energyWh: 5 }]);
  await at.publish();
  // At noon, when the queue runs it.
  await at.clock.advance(300);
  await at.work();
  expect((await at.ledger().runs()).map(({ period }) => period)).toEqual(['2026-11-19']);
  expect(await at.ledger('earlier').runs()).toEqual([]);
});

test('an export whose ledger is damaged fails its turn with the reason, and the others run', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([
    { id: 'broken', schedule: '0 12 * * *' },
    { id: 'whole', schedule: '0 12 * * *' },
  ]);
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, energyWh: 5 }]);
  await at.publish();
  mkdirSync(join(at.dataDir, 'exports/broken'));
  writeFileSync(join(at.dataDir, 'exports/broken/progress.json'), '{');
  await at.clock.advance(300);
  await expect(at.work()).rejects.toThrow('broken/progress.json');
  expect((await at.ledger('whole').runs()).map(({ state }) => state)).toEqual(['delivered']);
});

test('energy that has changed since marks the files of its days, until it is as before or a correction went out', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([{ range: 'last_7_days' }, { id: 'other' }]);
  const week = (energyWh: number) => [
    { day: '2026-11-15', device: 1, energyWh: 100 },
    { day: '2026-11-18', device: 1, energyWh },
    { day: '2026-11-19', device: 1, energyWh: 50 },
  ];
  const signal = new AbortController().signal;
  await storeDays(at.shard, week(200));
  await at.publish();
  await at.exports.run('export1', { corrected: false }, signal);
  await at.exports.run('other', { corrected: false }, signal);
  const compare = async (days: Parameters<typeof storeDays>[1]) => {
    await storeDays(at.shard, days);
    await at.publish();
    await at.clock.advance(HOUR_MS);
    await at.work();
    return (await at.ledger().runs()).map(({ revision, outdated }) => ({ revision, days: outdated?.days }));
  };
  // A later version of the same energy is no change.
  expect(await compare(week(200).map((one) => ({ ...one, version: 2 })))).toEqual([
    { revision: 1, days: undefined },
  ]);
  const changed = [
    { day: '2026-11-17', beforeWh: null, afterWh: 9 },
    { day: '2026-11-18', beforeWh: 200, afterWh: 260 },
  ];
  expect(await compare([...week(260), { day: '2026-11-17', device: 2, energyWh: 9 }])).toEqual([
    { revision: 1, days: changed },
  ]);
  expect((await at.ledger('other').runs())[0]!.outdated).toBeUndefined();
  const { kind, run } = await at.exports.run('export1', { corrected: true }, signal);
  expect(kind).toBe('delivered');
  expect(run).toMatchObject({
    revision: 2,
    reason: 'correction',
    file: { name: 'export1_2026-11-13_to_2026-11-19_r2.csv', energyWh: 419 },
  });
  expect(await compare(week(261))).toEqual([
    { revision: 1, days: changed },
    { revision: 2, days: [{ day: '2026-11-18', beforeWh: 260, afterWh: 261 }] },
  ]);
  const sinceOf = async () => (await at.ledger().runs())[1]!.outdated?.since;
  const since = await sinceOf();
  expect((await compare(week(262)))[1]!.days).toMatchObject([{ afterWh: 262 }]);
  expect(await sinceOf()).toBe(since);
  expect((await compare(week(260)))[1]).toEqual({ revision: 2, days: undefined });
});

test('a period that is not over, or was delivered, is not exported by hand; an export that is stopped has not failed', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([{}]);
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, energyWh: 5 }]);
  await at.publish();
  const signal = new AbortController().signal;
  const today = parsePeriod('2026-11-20')!;
  await expect(at.exports.run('export1', { period: today, corrected: false }, signal)).rejects.toThrow(
    '2026-11-20 has not ended yet; today is 2026-11-20',
  );
  await expect(at.exports.run('nothing', { corrected: false }, signal)).rejects.toThrow(
    'configured are export1',
  );
  await expect(at.exports.run('export1', { corrected: false }, AbortSignal.abort())).rejects.toThrow();
  expect(await at.ledger().runs()).toMatchObject([{ state: 'planned', attempts: 0 }]);
  expect((await at.exports.run('export1', { corrected: false }, signal)).kind).toBe('delivered');
  expect((await at.exports.run('export1', { corrected: false }, signal)).kind).toBe('already-delivered');
  expect(await at.ledger().runs()).toHaveLength(1);
});

test('the state of an export follows its ledger, even if a person has delivered a failed file meanwhile', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([{}]);
  const runOf = (day: string, more: Partial<ExportRun>): ExportRun => ({
    format: 1,
    exportId: 'export1',
    workgroupId: 'home',
    report: 'daily_energy',
    period: day,
    startDay: day,
    endDay: day,
    revision: 1,
    reason: 'by hand',
    state: 'failed',
    plannedAt: formatInstant(at.clock.now()),
    attempts: 1,
    ...more,
  });
  const stateNow = async () => {
    await at.work();
    const [state] = at.exports.states().values();
    return { pending: state!.pending, failed: state!.failed };
  };
  await at.publish();
  await at.ledger().save(runOf('2026-11-18', {}));
  const later = formatInstant(at.clock.now() + HOUR_MS);
  await at.ledger().save(runOf('2026-11-19', { state: 'waiting', nextAttemptAt: later }));
  expect(await stateNow()).toEqual({ pending: 1, failed: 1 });
  await at.ledger().save(runOf('2026-11-18', { state: 'delivered' }));
  expect(await stateNow()).toEqual({ pending: 1, failed: 0 });
});
