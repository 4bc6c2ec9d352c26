// @module-tag slow
import { describe, expect, test } from 'vitest';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type CaseReading, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak, sampled } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

const path = (query: string) => `/api/v1/orgs/${WORKGROUP}/interval-energy?${query}`;
const streams = [
  { table: 't', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
  { table: 't', field: 'power', method: 'power_curve', unit: 'W' },
  { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh', jitter: '5 Wh' },
] as const;

type Profiles = Record<
  string,
  { start: string; intervals: number; energyWh: Record<string, Array<number | null>> }
>;

async function profiles(at: ReportFixture, query: string, token = at.token): Promise<Profiles> {
  const response = await at.get(path(query), { token });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as Profiles;
}

async function publishReadings(at: ReportFixture, timezone: string, readings: CaseReading[]): Promise<void> {
  await landReadings(at.shard, readings);
  await rollUpSite(at.shard, { timezone, streams });
  await at.publish();
}

/**
 * Readings every half hour of a register and of power that does not quite agree with it, on two sources of a
 * device.
 */
function readingsOf(device: number, fromMs: number, toMs: number): CaseReading[] {
  const readings: CaseReading[] = [];
  for (let ms = fromMs; ms <= toMs; ms += 1_800_000) {
    const hours = (ms - fromMs) / 3_600_000;
    const event_time = new Date(ms).toISOString();
    // The first day, the register is silent.
    const total = 1_000 + Math.round(hours * 333.3);
    const power = 300 + (ms % 7_777) / 10;
    const data: CaseReading['data'] = hours < 24 ? { power } : { power, total };
    const own = { device: deviceId(device), event_time };
    readings.push({ ...own, source: 'meter', data });
    readings.push({ ...own, source: 'pv', data: { power: -(ms % 3_333) / 7 } });
  }
  return readings;
}

const changes = [
  // Half an hour each way.
  ['Australia/Lord_Howe', '2026-04-04', '2026-04-06', [96, 98, 96]],
  ['Europe/Paris', '2026-03-28', '2026-03-30', [96, 92, 96]],
  // No midnight on the day that the clock is put forward.
  ['America/Santiago', '2026-09-05', '2026-09-07', [96, 92, 96]],
  ['Europe/Paris', '2026-10-24', '2026-10-26', [96, 100, 96]],
] as const;

// All in the soak, otherwise the first one. The plant of other tests has days of 25 hours.
describe.each(sampled(changes, 4))(
  'the profiles of %s from %s to %s',
  (timezone, startDate, endDate, intervals) => {
    test('have every interval of each day, and add up to the report exactly', async () => {
      const at = await openReport({ timezone });
      const noon = Date.parse(`${startDate}T12:00:00Z`);
      await publishReadings(at, timezone, [
        ...readingsOf(1, noon - 86_400_000, noon + 4 * 86_400_000),
        ...readingsOf(2, noon, noon + 86_400_000),
      ]);
      const range = `startDate=${startDate}&endDate=${endDate}`;
      for (const grouping of ['', '&groupBy=source']) {
        const report = await at.report(range + grouping);
        const answer = await profiles(at, range + grouping);
        expect(Object.keys(answer)).toEqual(Object.keys(report));
        expect(Object.values(answer).map((day) => day.intervals)).toEqual(intervals);
        for (const [day, { energyWh, intervals: count, start }] of Object.entries(answer)) {
          expect(Object.keys(energyWh)).toEqual(Object.keys(report[day]!));
          for (const [series, wh] of Object.entries(energyWh)) {
            expect(wh).toHaveLength(count);
            expect([series, wh.reduce<number>((sum, one) => sum + (one ?? 0), 0)]).toEqual([
              series,
              report[day]![series],
            ]);
          }
          expect(new Intl.DateTimeFormat('sv', { timeZone: timezone }).format(new Date(start))).toBe(day);
          expect(
            new Intl.DateTimeFormat('sv', { timeZone: timezone }).format(Date.parse(start) - 1),
          ).not.toBe(day);
        }
      }
      expect(Object.keys(await at.report(range))).toHaveLength(3);
      const methods = await at.analyse(
        "SELECT DISTINCT method FROM daily_energy WHERE source = 'meter' AND device = '0b0e7c1e-0000-4000-8000-000000000001'",
      );
      expect(methods.flat().sort()).toEqual(['power_curve', 'total_energy']);
    });
  },
);

test.each(
  sampled(
    [
      ['Asia/Kathmandu', 'Australia/Lord_Howe'],
      ['Europe/Paris', 'America/Los_Angeles'],
    ],
    2,
  ),
)('the intervals of %s are the same in the days of %s', async (timezone, other) => {
  const at = await openReport({ timezone });
  const first = Date.UTC(2026, 2, 20);
  await publishReadings(at, timezone, [
    ...readingsOf(1, first + 43_200_000, first + 5 * 86_400_000),
    ...readingsOf(2, first + 86_400_000, first + 2 * 86_400_000),
  ]);
  const range = 'startDate=2026-03-19&endDate=2026-03-27';
  for (const grouping of ['', '&groupBy=source']) {
    const byInstant = async (zone: string) => {
      const answer = await profiles(at, `${range}${grouping}&timezone=${zone}`);
      return Object.values(answer).flatMap(({ start, intervals, energyWh }) =>
        Object.entries(energyWh).flatMap(([series, wh]) => {
          expect(wh).toHaveLength(intervals);
          return wh.flatMap((one, index) =>
            one === null
              ? []
              : [`${new Date(Date.parse(start) + index * 900_000).toISOString()} ${series} ${one}`],
          );
        }),
      );
    };
    const own = (await byInstant(timezone)).sort();
    expect(own.length).toBeGreaterThan(400);
    expect((await byInstant(other)).sort()).toEqual(own);
  }
  const rows = await (await at.get(path(`${range}&timezone=${other}&format=ndjson`))).text();
  for (const line of rows.trim().split('\n')) {
    const row = JSON.parse(line) as Record<string, string>;
    expect(row.interval_start_local!.slice(0, 10)).toBe(row.day);
  }
});

/** Energy: devices 1, 2 and 3 on 18 November, 4 and 5 on the 20th, 6 on the 22nd, 7 on the 23rd and 24th. */
const november = shared(async () => {
  const at = await openReport({ deviceGroups: { roof: [deviceId(4)] } });
  const [first, second] = [Date.UTC(2026, 10, 18), Date.UTC(2026, 10, 20)];
  await publishReadings(at, 'Etc/UTC', [
    ...readingsOf(1, first + 21_600_000, first + 86_400_000),
    ...readingsOf(2, first + 43_200_000, first + 86_400_000),
    ...readingsOf(3, first + 21_600_000, first + 64_800_000),
    ...readingsOf(4, second, second + 86_400_000),
    ...readingsOf(5, second, second + 86_400_000),
    // The register is there for an hour, power all day: the day is of the power.
    ...Array.from({ length: 15 }, (_, hour) => ({
      device: deviceId(6),
      event_time: new Date(Date.UTC(2026, 10, 22, 10 + hour)).toISOString(),
      data: { power: 40, ...(hour < 2 && { total: 4_000 * hour }) },
    })),
    // A daily register is read for the last time at midnight, and shows less than its jitter.
    { device: deviceId(7), event_time: '2026-11-23T22:00:00Z', data: { today: 1_000 } },
    { device: deviceId(7), event_time: '2026-11-23T23:50:00Z', data: { today: 1_500 } },
    { device: deviceId(7), event_time: '2026-11-24T00:00:00Z', data: { today: 3 } },
  ]);
  return at;
});

test('the intervals come from the method that gives the energy of the day', async () => {
  const { '2026-11-22': day } = await profiles(november(), 'startDate=2026-11-22&endDate=2026-11-22');
  expect(day!.energyWh[deviceId(6)]).toEqual([
    ...Array.from({ length: 40 }, () => null),
    ...Array.from({ length: 56 }, () => 10),
  ]);
});

test('energy that is known at one instant only has its interval, although no measured time is in it', async () => {
  const range = 'startDate=2026-11-24&endDate=2026-11-24';
  const { '2026-11-24': report } = await november().report(range);
  expect(report).toEqual({ [deviceId(7)]: 3 });
  const { '2026-11-24': day } = await profiles(november(), range);
  expect(day!.energyWh).toEqual({ [deviceId(7)]: [3, ...Array.from({ length: 95 }, () => null)] });
});

test('with `top` the series with most energy come first, and the others are added up', async () => {
  const at = november();
  for (const grouping of ['', '&groupBy=source', '&groupBy=source&timezone=Asia/Kolkata']) {
    const range = `startDate=2026-11-18&endDate=2026-11-18${grouping}`;
    const { energyWh: all } = (await profiles(at, range))['2026-11-18']!;
    const sumOf = (key: string) => Math.abs(all[key]!.reduce<number>((sum, wh) => sum + (wh ?? 0), 0));
    const [largest, ...others] = Object.keys(all).sort((a, b) => sumOf(b) - sumOf(a));
    const sums = all[largest!]!.map((_, index) => {
      const known = others.flatMap((key) => all[key]![index] ?? []);
      return known.length === 0 ? null : known.reduce((sum, wh) => sum + wh, 0);
    });
    expect(others.length).toBeGreaterThan(1);
    expect(sums.filter((wh) => wh === null).length).toBeGreaterThan(0);
    const { energyWh: top } = (await profiles(at, `${range}&top=1`))['2026-11-18']!;
    expect(Object.entries(top)).toEqual([
      [largest, all[largest!]],
      ['others', sums],
    ]);
    expect((await profiles(at, `${range}&top=100`))['2026-11-18']!.energyWh).toEqual(all);
  }
});

test('days without energy have an empty profile, and so has everything before the first publication', async () => {
  const at = await openReport({ timezone: 'Pacific/Apia' });
  // The day that Samoa left out.
  const range = 'startDate=2011-12-29&endDate=2011-12-31';
  const empty = {
    '2011-12-29': { start: '2011-12-29T10:00:00.000Z', intervals: 96, energyWh: {} },
    '2011-12-30': { start: '2011-12-30T10:00:00.000Z', intervals: 0, energyWh: {} },
    '2011-12-31': { start: '2011-12-30T10:00:00.000Z', intervals: 96, energyWh: {} },
  };
  expect(await profiles(at, range)).toEqual(empty);
  await publishReadings(at, 'Pacific/Apia', [
    { event_time: '2011-12-31T10:00:00Z', data: { total: 0 } },
    { event_time: '2011-12-31T11:00:00Z', data: { total: 4 } },
  ]);
  expect(await profiles(at, range)).toEqual(empty);
});

test('invalid parameters are refused, and the limit of the range is named', async () => {
  const at = november();
  const refusal = async (query: string) => {
    const response = await at.get(path(query));
    const { error, parameter, message } = (await response.json()) as Record<string, string>;
    return [response.status, error, parameter, message];
  };
  expect(await refusal('startDate=2026-01-01&endDate=2026-04-03')).toEqual([
    400,
    'InvalidRequest',
    'startDate',
    'startDate: the range has 93 days, but at most 92 are allowed; ask for fewer days',
  ]);
  expect((await refusal('startDate=2026-02-30')).slice(0, 3)).toEqual([400, 'InvalidRequest', 'startDate']);
  expect((await refusal('groupBy=device')).slice(0, 3)).toEqual([400, 'InvalidRequest', 'groupBy']);
  expect((await refusal('timezone=Mars/Olympus')).slice(0, 3)).toEqual([400, 'InvalidRequest', 'timezone']);
  expect((await refusal('devices=inverter')).slice(0, 3)).toEqual([400, 'InvalidRequest', 'devices']);
  expect(Object.keys(await profiles(at, 'startDate=2026-01-01&endDate=2026-04-02'))).toHaveLength(92);
});

// This test comes last, because it changes the readings in the soak.
test('details and profiles show a token of a device group its devices only, and are cached by content', async () => {
  const at = november();
  const roof = await at.issue({ permissions: ['search:read'], deviceGroups: ['roof'] });
  const sender = await at.issue({ permissions: ['data:write'] });
  const tags = new Map<string, string>();
  for (const report of ['daily-energy/details', 'interval-energy']) {
    const url = `/api/v1/orgs/${WORKGROUP}/${report}?startDate=2026-11-20&endDate=2026-11-20`;
    const text = await (await at.get(url, { token: roof })).text();
    expect(text).toContain(deviceId(4));
    expect(text).not.toContain(deviceId(5));
    const all = await at.get(url);
    expect(await all.text()).toContain(deviceId(5));

    const etag = all.headers.get('etag')!;
    tags.set(url, etag);
    expect((await at.get(url, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    expect((await at.get(url, { token: roof, headers: { 'If-None-Match': etag } })).status).toBe(200);
    expect((await at.get(url, { token: undefined })).status).toBe(401);
    expect((await at.get(url, { token: sender })).status).toBe(403);
    expect((await at.get(url.replace(WORKGROUP, 'other'))).status).toBe(403);
    const posted = await fetch(at.base + url, { method: 'POST' });
    // A body that nobody reads keeps its connection open.
    await posted.text();
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
  // daily-energy.test.ts has the tag of data that change.
  if (!isSoak) return;
  await publishReadings(at, 'Etc/UTC', [
    { event_time: '2026-11-20T12:05:00Z', device: deviceId(4), source: 'pv', data: { power: 5_000 } },
  ]);
  for (const [url, etag] of tags)
    expect((await at.get(url, { headers: { 'If-None-Match': etag } })).status).toBe(200);
});
