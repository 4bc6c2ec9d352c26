import { expect, test } from 'vitest';
import { readStatisticsMap } from '../../src/home-assistant/read-statistics-map.ts';
import { InputError } from '../../src/lib/errors.ts';
import { deviceId } from '../support/messages.ts';

const known = [
  { id: 'sensor.pv', name: null, kind: 'energy', unit: 'kWh' },
  { id: 'sensor.house', name: null, kind: 'energy', unit: 'kWh' },
  { id: 'sensor.power', name: null, kind: 'power', unit: 'W' },
] as const;
const read = (map: unknown) =>
  readStatisticsMap('the map', map, known, { devices: [{ id: deviceId(1), name: 'roof' }] });

/** The problems of a map, as path and message. */
function problemsOf(map: unknown): string[] {
  try {
    read(map);
  } catch (error) {
    if (error instanceof InputError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

test('a statistic becomes the source of a device that is named or has an id, by default the default source', () => {
  const chosen = read({
    'sensor.pv': { device: 'roof' },
    'sensor.house': { device: deviceId(2), source: 'house' },
    // Power and energy can be one source.
    'sensor.power': { device: 'roof' },
  });
  expect(chosen.map(({ id, device, source, kind }) => [id, device, source, kind])).toEqual([
    ['sensor.pv', deviceId(1), 'default', 'energy'],
    ['sensor.house', deviceId(2), 'house', 'energy'],
    ['sensor.power', deviceId(1), 'default', 'power'],
  ]);
});

test('two statistics of one kind cannot be one source, even if the device is named in two ways', () => {
  const twice = { 'sensor.pv': { device: 'roof' }, 'sensor.house': { device: deviceId(1) } };
  expect(problemsOf(twice)).toEqual(['sensor.house: has the device and the source of another statistic']);
  expect(problemsOf({ ...twice, 'sensor.house': { device: 'roof', source: 'house' } })).toEqual([]);
});

test('every unknown statistic and device is named', () => {
  expect(problemsOf({ 'sensor.a': { device: 'roof' }, 'sensor.pv': { device: 'cellar' } })).toEqual([
    'sensor.a: is not a statistic with energy or power; --list shows them',
    'sensor.pv: "cellar" is neither a configured device nor a UUID',
  ]);
});

test('a map names 1 to 1,000 statistics', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`sensor.${index}`, { device: 'roof' }]));
  expect(problemsOf({})).toEqual([expect.stringContaining('must name 1 to 1000 statistics')]);
  expect(problemsOf(many(1_001))).toEqual([expect.stringContaining('must name 1 to 1000 statistics')]);
  expect(problemsOf(many(1_000))).toHaveLength(1_000);
  expect(problemsOf({ 'sensor.pv': { device: '' } })).toHaveLength(1);
});
