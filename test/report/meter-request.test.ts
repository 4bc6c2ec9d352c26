import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { type MeterParameters, meterQuery, visibleMeters } from '../../src/report/meter-request.ts';
import { deviceId } from '../support/messages.ts';

const { meters } = workgroupSchema.parse({
  id: 'home',
  meters: [
    { code: 'GRID-1', name: 'House' },
    { code: 'PV', name: 'Roof', device: deviceId(1) },
    { code: 'HEAT', name: 'Cellar', device: deviceId(2) },
    { code: 'PUMP', name: 'cellar' },
    // Its name is the code of another meter.
    { code: 'OLD', name: 'PV' },
  ],
});
type Meters = ReturnType<typeof visibleMeters>;
const codes = (list: Meters) => list.map(({ code }) => code);
const ask = (more: Partial<MeterParameters>, visible: Meters = meters) =>
  meterQuery(
    { startDate: '2026-11-01', endDate: '2026-11-02', ...more },
    { visible, ownZone: 'Europe/Paris' },
  );

test('a token sees all meters, and a token of device groups those of its devices', () => {
  expect(codes(visibleMeters(meters, { devices: 'all' }))).toEqual(codes(meters));
  expect(codes(visibleMeters(meters, { devices: new Set([deviceId(1)]) }))).toEqual(['PV']);
  expect(codes(visibleMeters(meters, { devices: new Set() }))).toEqual([]);
});

test.each<[meterCodes: string | string[] | undefined, chosen: string[]]>([
  [undefined, codes(meters)],
  ['GRID-1', ['GRID-1']],
  ['HEAT, PV', ['HEAT', 'PV']],
  [
    ['HEAT', 'PV,HEAT'],
    ['HEAT', 'PV'],
  ],
  ['roof', ['PV']],
  ['ROOF,PV', ['PV']],
  // A name in small letters is no code, so the name counts.
  ['pv', ['OLD']],
])('the meters %j are %j', (meterCodes, chosen) => {
  expect(codes(ask({ meterCodes }).meters)).toEqual(chosen);
});

test.each([
  ['cellar', meters, 'several meters have the name "cellar"; the codes are HEAT, PUMP'],
  ['HEET', meters, 'no meter has the code "HEET"; is it HEAT? The meters are GRID-1, PV, HEAT, PUMP, OLD'],
  // The token does not see it.
  ['GRID-1', meters.slice(1, 2), 'no meter has the code "GRID-1"; the meters are PV'],
])('a meter code %s of %j is refused: %s', (meterCodes, visible, says) => {
  expect(() => ask({ meterCodes }, visible)).toThrow(`meterCodes: ${says}`);
});

test('days are of the zone of the workgroup by default, at most 1,827 of them', () => {
  expect(ask({})).toMatchObject({ startDay: '2026-11-01', endDay: '2026-11-02', zone: 'Europe/Paris' });
  expect(ask({ timezone: 'Asia/Tokyo' }).zone).toBe('Asia/Tokyo');
  expect(ask({ startDate: '2021-11-02' }).startDay).toBe('2021-11-02');
  expect(() => ask({ startDate: '2021-11-01' })).toThrow('the range has 1828 days, but at most 1827');
  expect(() => ask({ startDate: '2026-11-03' })).toThrow('ends (2026-11-02) before it starts (2026-11-03)');
});
