import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { sha256Hex } from '../../src/lib/durable-files.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { MEBIBYTE } from '../../src/lib/units.ts';
import { receiveBody, removeOldFiles } from '../../src/worker-rpc/receive-body.ts';
import { ARGUMENTS_HEADER } from '../../src/worker-rpc/remote-wire.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { tempDir } from '../support/temp-dir.ts';

const text = '{"args":{"day":"2026-11-20"}}';
const file = Buffer.from('one,two\n1,2\n');
const noted = { bytes: file.length, sha256: sha256Hex(file) };

/** A body that arrives in chunks of at least 7 bytes, and the folder that it is received in. */
function receive(
  body: Buffer,
  call: { file?: { bytes: number; sha256: string } } = {},
  argumentBytes: number | null = text.length,
  folder = join(tempDir(), 'uploads'),
) {
  const chunkBytes = Math.max(7, body.length >> 8);
  const chunks = Array.from({ length: Math.ceil(body.length / chunkBytes) }, (_, at) =>
    body.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  );
  const request = Object.assign(Readable.from(chunks), {
    headers: argumentBytes === null ? {} : { [ARGUMENTS_HEADER]: String(argumentBytes) },
  });
  const received = receiveBody(
    request as unknown as IncomingMessage,
    { argumentsSha256: sha256Hex(text), ...call },
    folder,
  );
  return { received, folder };
}

test('the arguments come first, and the rest is the file', async () => {
  expect(await receive(Buffer.from(text)).received).toEqual({ args: { day: '2026-11-20' } });
  // The most that a caller may announce.
  expect(await receive(Buffer.from(text), {}, MEBIBYTE).received).toHaveProperty('args');
  const both = await receive(Buffer.concat([Buffer.from(text), file]), { file: noted }).received;
  expect(both).toEqual({ args: { day: '2026-11-20' }, path: expect.stringMatching(/\.received$/) });
  expect(readFileSync(both.path!)).toEqual(file);
});

test.each([
  ['other arguments', text.replace('20"', '21"'), {}, text.length, 'DamagedCall'],
  ['more bytes than the arguments', `${text}x`, {}, text.length, 'DamagedCall'],
  ['arguments without a length', text, {}, null, 'TooLarge'],
  ['arguments of more than 1 MiB', text, {}, MEBIBYTE + 1, 'TooLarge'],
  [
    'a file of more than 512 MiB',
    text,
    { file: { ...noted, bytes: 512 * MEBIBYTE + 1 } },
    text.length,
    'TooLarge',
  ],
  [
    'a file with other bytes',
    `${text}${file.toString().replace('1', '9')}`,
    { file: noted },
    text.length,
    'DamagedCall',
  ],
  ['a file that is shorter', `${text}one`, { file: noted }, text.length, 'DamagedCall'],
  ['a file that is longer', `${text}${file}x`, { file: noted }, text.length, 'DamagedCall'],
])('%s: nothing is done, and no file is left', async (_, body, call, argumentBytes, code) => {
  const { received, folder } = receive(Buffer.from(body), call, argumentBytes);
  await expect(received).rejects.toMatchObject({ code, retryable: false });
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
});

test('a file that is longer than its token says is refused before the rest is read', async () => {
  let sent = 0;
  async function* body() {
    yield Buffer.concat([Buffer.from(text), file]);
    for (; sent < 100; sent++) yield Buffer.from('x');
  }
  const request = Object.assign(body(), { headers: { [ARGUMENTS_HEADER]: String(text.length) } });
  const call = { argumentsSha256: sha256Hex(text), file: noted };
  const received = receiveBody(request as unknown as IncomingMessage, call, tempDir());
  await expect(received).rejects.toMatchObject({ code: 'DamagedCall' });
  expect(sent).toBeLessThan(3);
});

test('a file that the disk has no space for is an error that says so, and no file is left', async (context) => {
  const disk = mountSmallDisk(1);
  if (disk === undefined) return context.skip('this user cannot make a small disk');
  const large = Buffer.alloc(2 * MEBIBYTE);
  const call = { file: { bytes: large.length, sha256: sha256Hex(large) } };
  const { received } = receive(Buffer.concat([Buffer.from(text), large]), call, text.length, disk.folder);
  const message = `the disk of ${disk.folder} is full; free some space`;
  await expect(received).rejects.toMatchObject({ code: 'DiskFull', message, retryable: true });
  expect(readdirSync(disk.folder)).toEqual([]);
});

test('received files are deleted after an hour, and no other files', async () => {
  const folder = tempDir();
  mkdirSync(folder, { recursive: true });
  const ages = { 'old.received': 1.01, 'young.received': 0.99, 'old.csv': 5 };
  for (const [name, hours] of Object.entries(ages)) {
    writeFileSync(join(folder, name), '');
    const atS = (Date.now() - hours * HOUR_MS) / 1_000;
    utimesSync(join(folder, name), atS, atS);
  }
  await removeOldFiles(folder, systemClock);
  expect(readdirSync(folder).sort()).toEqual(['old.csv', 'young.received']);
  await removeOldFiles(join(folder, 'none'), systemClock);
});
