import { expect, test } from 'vitest';
import { decodeText, detectEncoding } from '../../src/foreign-table/text-encoding.ts';

const text = (value: string, encoding: ReturnType<typeof detectEncoding>) => ({
  kind: 'text',
  text: value,
  encoding,
});
const mixed = (...lines: Array<{ line: number; byte: number }>) => ({ kind: 'mixed', lines });
const latin1 = (value: string) => Buffer.from(value, 'latin1');

test.each<[name: string, bytes: Uint8Array, decoded: unknown]>([
  ['nothing', Buffer.alloc(0), text('', 'utf-8')],
  ['ASCII', Buffer.from('a;1\n'), text('a;1\n', 'utf-8')],
  ['UTF-8', Buffer.from('Zähler €'), text('Zähler €', 'utf-8')],
  ['UTF-8 with a mark', Buffer.from('\uFEFFZähler'), text('Zähler', 'utf-8')],
  ['Windows-1252', latin1('Z\xe4hler \x80'), text('Zähler €', 'windows-1252')],
  ['UTF-16 with a mark', Buffer.from('\uFEFFZähler', 'utf16le'), text('Zähler', 'utf-16le')],
  ['UTF-16 without a mark', Buffer.from('Zähler', 'utf16le'), text('Zähler', 'utf-16le')],
  ['UTF-16BE with a mark', Buffer.from('\uFEFFZähler', 'utf16le').swap16(), text('Zähler', 'utf-16be')],
  ['UTF-16BE without a mark', Buffer.from('Zähler', 'utf16le').swap16(), text('Zähler', 'utf-16be')],
  ['UTF-32 with a mark', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), { kind: 'utf-32' }],
  ['UTF-32BE without a mark', Buffer.from([0, 0, 0, 0x61]), { kind: 'utf-32' }],
  [
    'short lines with tabs, as Windows ends them',
    Buffer.from('1\t2\r\n'.repeat(99)),
    text('1\t2\r\n'.repeat(99), 'utf-8'),
  ],
  ['zeros', Buffer.alloc(8), { kind: 'binary' }],
  ['control characters', Buffer.alloc(6, 0x01), { kind: 'binary' }],
  ['few control characters', Buffer.alloc(5, 0x01), text('\x01'.repeat(5), 'utf-8')],
  [
    'a line of UTF-8 among others',
    Buffer.concat([Buffer.from('ä\nb\n'), latin1('\xfc\n')]),
    mixed({ line: 3, byte: 0xfc }),
  ],
  ...[0x81, 0x8d, 0x8f, 0x90, 0x9d].map((byte): [string, Uint8Array, unknown] => [
    `the byte 0x${byte.toString(16)}, which Windows-1252 does not have`,
    Buffer.from([0xe4, 0x20, byte]),
    mixed({ line: 1, byte: 0xe4 }),
  ]),
])('%s', (_name, bytes, decoded) => {
  expect(decodeText(bytes)).toEqual(decoded);
});

test('all other bytes from 0x80 are characters of Windows-1252', () => {
  const unassigned = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
  const bytes = Array.from({ length: 0x80 }, (_, index) => 0x80 + index).filter(
    (byte) => !unassigned.includes(byte),
  );
  expect(decodeText(Buffer.from(bytes))).toMatchObject({ kind: 'text', encoding: 'windows-1252' });
});

test('the first bytes of a file may end within a character', () => {
  expect(detectEncoding(Buffer.from('Zä').subarray(0, 2))).toBe('utf-8');
});
