import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { expectedRows } from '../../src/import/expected-rows.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { openReader } from '../../src/import/open-reader.ts';
import { openSource } from '../../src/import/source-file.ts';
import { DEVICE, fileOf, parquetOf } from './import-fixture.ts';

const mapping = mappingSchema.parse({ time: { column: 'time' }, device: { id: DEVICE }, fields: { a: 'a' } });

async function expectedOf(path: string): Promise<number | undefined> {
  const reader = await openReader(path, { threads: 1 });
  try {
    return await expectedRows(reader, await openSource(reader, mapping, ['time', 'a']));
  } finally {
    reader.close();
  }
}

/** Lines of JSON objects, each with so many bytes. */
const lines = (count: number, bytes: number) => `${'{}'.padEnd(bytes - 1)}\n`.repeat(count);

test('a short text has as many rows as lines, and a long text is taken to be like its first 64 KiB', async () => {
  expect(await expectedOf(fileOf('short.ndjson', lines(3, 100)))).toBe(3);
  const first = lines(512, 64) + lines(256, 128);
  const long = first + lines(16, 4_096);
  expect(await expectedOf(fileOf('long.ndjson', long))).toBe(2 * (512 + 256));
});

test('the rows of a text without a line end, and of a packed text, are not known', async () => {
  expect(await expectedOf(fileOf('one.ndjson', '{}'))).toBeUndefined();
  // With this level the packed bytes contain the line ends.
  const packed = gzipSync(lines(3, 100), { level: 0 });
  expect(await expectedOf(fileOf('packed.ndjson.gz', packed))).toBeUndefined();
});

test('the rows of Parquet are counted exactly', async () => {
  expect(await expectedOf(await parquetOf('FROM range(3_001)', 2_048))).toBe(3_001);
});
