import { expect, test } from 'vitest';
import { energyOf, parseLike, stretchOf } from '../../src/cli/correct/correct-input.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';

const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const inZone = (timezone: string) =>
  workgroupSchema.parse({ id: 'home', timezone, devices: [{ id: GARAGE, name: 'garage' }] });
const paris = inZone('Europe/Paris');
const shown = ({ fromMs, toMs }: { fromMs: number; toMs: number }) =>
  [fromMs, toMs].map((ms) => new Date(ms).toISOString());

test('a day is the local day of the workgroup, also with 23 and 25 hours', () => {
  for (const [day, from, to] of [
    ['2026-05-17', '2026-05-16T22:00', '2026-05-17T22:00'],
    ['2026-03-29', '2026-03-28T23:00', '2026-03-29T22:00'],
    ['2026-10-25', '2026-10-24T22:00', '2026-10-25T23:00'],
  ] as const)
    expect(shown(stretchOf({ day }, paris))).toEqual([`${from}:00.000Z`, `${to}:00.000Z`]);
});

test('a time without an offset is one of the zone of the workgroup, and one with an offset is taken as it is', () => {
  const stretch = (from: string, to: string) => shown(stretchOf({ from, to }, paris));
  expect(stretch('2026-05-17T13:00', '2026-05-17 23:59')).toEqual([
    '2026-05-17T11:00:00.000Z',
    '2026-05-17T21:59:00.000Z',
  ]);
  expect(stretch('2026-10-25T02:30+02:00', '2026-10-25T02:30+01:00')).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-25T01:30:00.000Z',
  ]);
});

test('a zone that is put back by half an hour shows only the last half hour twice', () => {
  const lordHowe = inZone('Australia/Lord_Howe');
  const at = (from: string) => () => stretchOf({ from, to: '2026-04-06T00:00' }, lordHowe);
  expect(at('2026-04-05T01:30')).toThrow(
    'clocks in Australia/Lord_Howe show 2026-04-05 01:30 twice; add the offset, such as 2026-04-05T01:30+11:00',
  );
  expect(at('2026-04-05T01:00')).not.toThrow();
});

test.each([
  [{ day: '2026-05-17', from: '2026-05-17T01:00' }, '--day: cannot be combined with --from and --to'],
  [{ day: '2026-02-30' }, '--day: "2026-02-30" is not an existing day'],
  [{}, '--from: is missing; name --from and --to, or --day'],
  [{ from: '2026-05-17T01:00' }, '--to: is missing; name --from and --to, or --day'],
  [{ from: '2026-05-17T24:00', to: '2026-05-18T00:00' }, '--from: "2026-05-17T24:00" is not a time'],
  [{ from: '2026-05-17T01:60', to: '2026-05-18T00:00' }, '--from: "2026-05-17T01:60" is not a time'],
])('the period %j is refused with what to write', (options, message) => {
  expect(() => stretchOf(options, paris)).toThrow(message);
});

test('a day that the zone skipped is refused', () => {
  expect(() => stretchOf({ day: '2011-12-30' }, inZone('Pacific/Apia'))).toThrow(
    '--day: the day 2011-12-30 does not exist in Pacific/Apia',
  );
});

test('energy has a unit and is stored as whole Wh', () => {
  expect(['350 Wh', '3.5 MWh', '0.0004 kWh', '0.6 Wh'].map(energyOf)).toEqual([350, 3_500_000, 0, 1]);
  expect(() => energyOf('350')).toThrow('--energy: "350" is not an energy');
});

test('another source is named by its device, and by its own name if it is not the default one', () => {
  expect(parseLike('garage/east', paris)).toEqual({ device: GARAGE, source: 'east' });
  expect(parseLike('garage/east/2', paris)).toEqual({ device: GARAGE, source: 'east/2' });
  expect(parseLike('garage', paris)).toEqual({ device: GARAGE, source: 'default' });
  expect(() => parseLike('shed/east', paris)).toThrow('--like: "shed" is neither a device id');
});
