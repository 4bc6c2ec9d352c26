import { expect, test } from 'vitest';
import { alternativesText, visibleNamed } from '../../src/report/known-devices.ts';
import { knownText, meantText } from '../../src/report/known-names.ts';
import { deviceId } from '../support/messages.ts';

const [one, two, three] = [deviceId(1), deviceId(2), deviceId(3)];
const garage = { id: one, name: 'garage' };
const nameless = { id: two };

test.each<[text: string, ...Parameters<typeof alternativesText>]>([
  ['give the id of a device, a UUID', 'garag', []],
  ['is it garage? The devices are garage', 'garag', [garage, nameless]],
  // Ids are not listed beside names, and can be meant.
  ['the devices are garage', 'cellar', [garage, nameless], [three]],
  [`is it ${three}? The devices are garage`, `${three}3`, [garage], [three]],
  [`the devices are ${one}, ${two}`, 'cellar', [nameless], [one, two]],
])('the alternatives: %s', (text, written, named, others) => {
  expect(alternativesText(written, named as never, others)).toBe(text);
});

test('a token of device groups sees the names of its devices', () => {
  const workgroup = { devices: [garage, nameless] } as never;
  expect(visibleNamed({ devices: 'all' }, workgroup)).toEqual([garage, nameless]);
  expect(visibleNamed({ devices: new Set([two, three]) }, workgroup)).toEqual([nameless]);
});

test('an error lists 20 names, and counts the others', () => {
  const names = Array.from({ length: 22 }, (_, index) => `n${index}`);
  expect(knownText('meters', [])).toBe('there are no meters that the token may see');
  expect(knownText('meters', names.slice(0, 20))).toMatch(/^the meters are n0, .*, n19$/);
  expect(knownText('meters', names)).toMatch(/, n19 and 2 more$/);
  expect(meantText('nothing like it', 'meters', ['GRID-1'], ['house'])).toBe('the meters are GRID-1');
  expect(meantText('hose', 'meters', ['GRID-1'], ['house'])).toBe('is it house? The meters are GRID-1');
});
