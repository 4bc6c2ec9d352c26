import { expect, test } from 'vitest';
import { DEVICE_TEXT_BYTES, deviceText, readDevice } from '../../src/decode/device-words.ts';

const TEXT = '01234567-89ab-cdef-fedc-ba9876543210';
const read = (text: string, words = new Uint32Array(4)) =>
  readDevice(Buffer.from(text, 'latin1'), 0, words, 0);

test('the words of a device are those of a HUGEINT of the database, the lowest first', () => {
  const words = new Uint32Array(6);
  expect(readDevice(Buffer.from(`x${TEXT}`), 1, words, 2)).toBe(true);
  expect([...words].map((word) => word.toString(16))).toEqual([
    '0',
    '0',
    '76543210',
    'fedcba98',
    '89abcdef',
    '81234567',
  ]);
  expect(deviceText(words, 2)).toBe(TEXT);
});

test.each([
  '00000000-0000-0000-0000-000000000000',
  '7fffffff-ffff-ffff-ffff-ffffffffffff',
  '80000000-0000-0000-8000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
])('%s is read and written, in lower case', (text) => {
  const words = new Uint32Array(4);
  expect(read(text, words)).toBe(true);
  expect(deviceText(words, 0)).toBe(text.toLowerCase());
});

test('a text with another character at any place is no device', () => {
  for (let at = 0; at < DEVICE_TEXT_BYTES; at++) {
    const wrong = TEXT[at] === '-' ? ['0', '_'] : ['-', 'g', '/', ':', '@', '`', ' ', 'é'];
    for (const character of wrong)
      expect([at, read(TEXT.slice(0, at) + character + TEXT.slice(at + 1))]).toEqual([at, false]);
  }
});

test('bytes that end within the text are no device', () => {
  for (let length = 0; length < DEVICE_TEXT_BYTES; length++) expect(read(TEXT.slice(0, length))).toBe(false);
  expect(readDevice(Buffer.from(TEXT), 1, new Uint32Array(4), 0)).toBe(false);
});
