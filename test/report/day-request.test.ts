import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { dayQuery, quote, rangeOrYesterday, visibleDevices } from '../../src/report/day-request.ts';
import { deviceId } from '../support/messages.ts';

const [one, two, three] = [deviceId(1), deviceId(2), deviceId(3)];
const workgroup = workgroupSchema.parse({
  id: 'home',
  timezone: 'Europe/Paris',
  devices: [{ id: one, name: 'garage' }, { id: two }],
});
/** After midnight in Paris. */
const nowMs = Date.parse('2026-11-20T23:30:00Z');
const at = { zone: 'Europe/Paris', nowMs, daysMax: 31 };

test.each<[startDate: string | undefined, endDate: string | undefined, range: string]>([
  [undefined, undefined, '2026-11-20 to 2026-11-20'],
  ['2026-11-18', undefined, '2026-11-18 to 2026-11-20'],
  [undefined, '2026-11-22', '2026-11-20 to 2026-11-22'],
  ['2026-11-25', '2026-11-26', '2026-11-25 to 2026-11-26'],
  ['2026-10-21', '2026-11-20', '2026-10-21 to 2026-11-20'],
  [
    '2026-10-20',
    '2026-11-20',
    'startDate: the range has 32 days, but at most 31 are allowed; ask for fewer days',
  ],
  [
    '2026-11-21',
    undefined,
    'endDate: is yesterday (2026-11-20) unless it is given, which is before 2026-11-21',
  ],
  ['2026-11-02', '2026-11-01', 'endDate: the range ends (2026-11-01) before it starts (2026-11-02)'],
])('the range from %s to %s: %s', (startDate, endDate, range) => {
  const read = () => {
    const { startDay, endDay } = rangeOrYesterday({ startDate, endDate }, at);
    return `${startDay} to ${endDay}`;
  };
  if (range.includes(':')) expect(read).toThrow(range);
  else expect(read()).toBe(range);
});

test('devices are named by ids or names, once each; without any it is all that the token sees', () => {
  const chosen = (asked: string | string[] | undefined, devices: 'all' | Set<string> = 'all') =>
    visibleDevices(asked, { devices }, workgroup);
  expect(chosen(undefined)).toBeUndefined();
  expect(chosen(undefined, new Set([two, three]))).toEqual([two, three]);
  expect(chosen(['garage, GARAGE', two])).toEqual([one, two]);
  expect(chosen(two.toUpperCase())).toEqual([two]);
  // Nobody knows here whether it is published.
  expect(chosen(three)).toEqual([three]);
});

test('a device that the token does not see is unknown, like one that does not exist', () => {
  const devices = new Set([two]);
  for (const asked of ['garage', one, three, 'nothing'])
    expect(() => visibleDevices(asked, { devices }, workgroup)).toThrow(
      new RegExp(`^devices: there is no device "${asked}"; (is it ${two}\\? T|t)he devices are ${two}$`),
    );
});

test('at most 10,000 devices are named', () => {
  const named = (count: number) =>
    visibleDevices(Array(count).fill('garage').join(','), { devices: 'all' }, workgroup);
  expect(named(10_000)).toEqual([one]);
  expect(() => named(10_001)).toThrow('devices: at most 10000 devices can be named');
});

test.each<[zone: string | undefined, day: string, own: object]>([
  [undefined, '2026-11-18', { startDay: '2026-11-18', endDay: '2026-11-18', zone: 'Europe/Paris' }],
  // The day of UTC begins an hour later, and ends on the next day of Paris.
  [
    'Etc/UTC',
    '2026-11-18',
    {
      startDay: '2026-11-18',
      endDay: '2026-11-19',
      zone: 'Europe/Paris',
      shown: { startDay: '2026-11-18', endDay: '2026-11-18', zone: 'Etc/UTC' },
    },
  ],
  ['Europe/Berlin', '2026-11-18', { startDay: '2026-11-18', endDay: '2026-11-18' }],
])('the days of the workgroup for the zone %s and the day %s', (timezone, day, own) => {
  const parameters = { startDate: day, endDate: day, timezone };
  const query = dayQuery(parameters, { devices: 'all' }, { workgroup, nowMs, daysMax: 1 });
  expect(query).toMatchObject(own);
  expect('shown' in query).toBe(timezone !== undefined);
});

test('a day that its zone skipped lies in the day of the workgroup that begins then', () => {
  // In Honolulu a day begins at the instant at which Apia skipped one.
  const honolulu = { ...workgroup, timezone: 'Pacific/Honolulu' };
  const parameters = { startDate: '2011-12-30', endDate: '2011-12-30', timezone: 'Pacific/Apia' };
  const query = dayQuery(parameters, { devices: 'all' }, { workgroup: honolulu, nowMs, daysMax: 1 });
  expect(query).toMatchObject({ startDay: '2011-12-30', endDay: '2011-12-30' });
});

test('a query has its devices sorted', () => {
  const query = dayQuery({ devices: [two, 'garage'] }, { devices: 'all' }, { workgroup, nowMs, daysMax: 1 });
  expect(query).toMatchObject({ devices: [one, two], bySource: false });
});

test('a long text of a caller is shortened in an error', () => {
  expect(quote('a"b')).toBe('"a\\"b"');
  expect(quote('x'.repeat(61)).length).toBeLessThan(66);
  expect(quote('x'.repeat(60))).toBe(`"${'x'.repeat(60)}"`);
});
