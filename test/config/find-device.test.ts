import { expect, test } from 'vitest';
import { findDevice } from '../../src/config/find-device.ts';

const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const OTHER = '1f0c8d0e-3b52-4f0c-9d7e-2b9a4a1c6d11';
const workgroup = { devices: [{ id: GARAGE, name: 'Garage' }, { id: OTHER }] };

test.each([
  ['its name in any case', ' gARAGE ', GARAGE],
  ['its id in any case', ` ${OTHER.toUpperCase()} `, OTHER],
  ['an id that is not configured', OTHER.replace('1', '2'), OTHER.replace('1', '2')],
  ['no other text', 'roof', undefined],
])('a device is found by %s', (_, text, id) => {
  expect(findDevice(workgroup, text)).toBe(id);
});
