import { expect, test } from 'vitest';
import { createDevices, derivedId } from '../../src/import/import-devices.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { deviceId } from '../support/messages.ts';
import { testWorkgroup } from './settings.ts';

const [roof, yard, garage] = [deviceId(1), deviceId(2), deviceId(3)] as const;
const workgroup = testWorkgroup({
  devices: [{ id: roof, name: 'roof' }, { id: yard, name: 'yard' }, { id: garage }],
});

function devicesOf(device: object) {
  return createDevices(
    workgroup,
    mappingSchema.parse({ time: { column: 't' }, device, fields: { v: 'wh' } }),
  );
}

/** The words of a UUID as in the columns: the last word is the first part, as a signed integer. */
function wordsOf(uuid: string): Uint32Array {
  const hex = uuid.replaceAll('-', '');
  const words = [24, 16, 8, 0].map((at) => Number.parseInt(hex.slice(at, at + 8), 16));
  words[3]! ^= 0x8000_0000;
  return Uint32Array.from(words);
}

test.each<[about: string, text: string, device: object, id: string | undefined]>([
  ['a UUID', roof, {}, roof],
  ['a UUID in upper case', roof.toUpperCase(), {}, roof],
  ['a UUID that is not configured', deviceId(9), {}, deviceId(9)],
  ['a configured name', 'yard', {}, yard],
  ['a name of the mapping', 'meter 7', { names: { 'meter 7': garage } }, garage],
  ['a name of the mapping before a configured one', 'yard', { names: { yard: garage } }, garage],
  ['an unknown name', 'cellar', {}, undefined],
  ['an unknown name that gives an id', 'cellar', { unknown: 'derive' }, derivedId(workgroup.id, 'cellar')],
  ['a known name, even if others give an id', 'yard', { unknown: 'derive' }, yard],
  ['almost a UUID', roof.slice(1), {}, undefined],
  ['a UUID with more behind it', `${roof}-1`, {}, undefined],
])('the device of %s', (_, text, device, id) => {
  const { find } = devicesOf({ column: 'meter', ...device });
  const words = id === undefined ? undefined : wordsOf(id);
  expect(find(text)).toEqual(words);
  expect(find(text)).toEqual(words);
});

test('a UUID of DuckDB, which is a signed integer, is the same device', () => {
  const { find, wordsOfUuid } = devicesOf({ column: 'meter' });
  for (const uuid of [roof, 'ffffffff-0000-4000-8000-000000000001']) {
    const unsigned = BigInt(`0x${uuid.replaceAll('-', '')}`);
    const hugeint = BigInt.asIntN(128, unsigned ^ (1n << 127n));
    expect(wordsOfUuid(hugeint)).toEqual(find(uuid));
  }
});

test('an id follows from a name and its workgroup', () => {
  expect(derivedId('home', 'cellar')).toBe(derivedId('home', 'cellar'));
  expect(derivedId('home', 'cellar')).not.toBe(derivedId('plant', 'cellar'));
});

test('the device of a whole file must be known', () => {
  expect(() => devicesOf({ id: 'yard' })).not.toThrow();
  expect(() => devicesOf({ id: 'cellar' })).toThrow('"cellar" is neither a UUID nor the name of a device');
});
