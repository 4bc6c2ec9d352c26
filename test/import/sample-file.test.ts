import { expect, test } from 'vitest';
import { openReader } from '../../src/import/open-reader.ts';
import { sampleFile } from '../../src/import/sample-file.ts';
import { fileOf, parquetOf } from './import-fixture.ts';

async function sampleOf(path: string) {
  const reader = await openReader(path, { threads: 1 });
  try {
    const { columns, rows } = await sampleFile(reader);
    return { names: columns.map(({ name }) => name), rows };
  } finally {
    reader.close();
  }
}

test('three levels of objects within a row are opened, in JSON as in Parquet', async () => {
  const path = fileOf('log.ndjson', '{"t":1,"a":{"b":{"c":{"d":{"e":2},"f":[3]}}},"/x":{"y":null}}\n');
  const { names, rows } = await sampleOf(path);
  expect(names).toEqual(['t', '/a/b/c/d', '/a/b/c/f', '/~1x/y']);
  expect(rows).toEqual([['1', '{"e":2}', '[3]', null]]);
  const parquet = await sampleOf(await parquetOf("SELECT {b: {c: {d: {e: 2}, f: 'x'}}} AS a"));
  expect(parquet.names).toEqual(['/a/b/c/d', '/a/b/c/f']);
});

test('the sample has no broken lines of JSON', async () => {
  const { names, rows } = await sampleOf(fileOf('log.ndjson', 'oops\n{"a":1}\n[2]\n{"a":3,"/b":4}\n'));
  expect({ names, rows }).toEqual({
    names: ['a', '/~1b'],
    rows: [
      ['1', null],
      ['3', '4'],
    ],
  });
});

test('the members of the first 200 objects are known', async () => {
  const lines = Array.from({ length: 201 }, (_, row) => JSON.stringify({ [`m${row}`]: 1 }));
  const { names, rows } = await sampleOf(fileOf('log.ndjson', lines.join('\n')));
  expect([names.length, names.at(-1), rows.length]).toEqual([200, 'm199', 201]);
});

test('the first 2,000 rows are sampled', async () => {
  const { rows } = await sampleOf(fileOf('log.csv', `a,b\n${'1,2\n'.repeat(2_001)}`));
  expect(rows).toHaveLength(2_000);
});

test('the first 500 members are columns', async () => {
  const members = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`m${index}`, index]));
  const { names } = await sampleOf(fileOf('log.ndjson', JSON.stringify(members)));
  expect([names.length, names.at(-1)]).toEqual([500, 'm499']);
});

test('a file without an object, or with only broken lines, has no sample', async () => {
  await expect(sampleOf(fileOf('log.ndjson', '[1]\n2\n'))).rejects.toThrow('has no JSON object');
  await expect(sampleOf(fileOf('log.csv', 'a,b\n'))).rejects.toThrow('has no readable row below its heading');
});
