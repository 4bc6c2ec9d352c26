import { describe, expect, test } from 'vitest';
import type { MappingInput } from '../../src/import/import-mapping.ts';
import { InputError } from '../../src/lib/errors.ts';
import { DEVICE, fileOf, parquetOf, preview } from './import-fixture.ts';

const plain: MappingInput = { time: { column: 'time' }, device: { id: DEVICE }, fields: { a: 'a' } };
const csv = (...lines: string[]) => fileOf('file.csv', `${lines.join('\n')}\n`);

describe('what is broken', () => {
  test('in a CSV file is rejected with its line, and the rest is read', async () => {
    const file = fileOf(
      'broken.csv',
      Buffer.concat([
        Buffer.from(
          'time,a\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:01Z\n2024-01-01T00:00:02Z,3,4\n2024-01-01T00:00:03Z,',
        ),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('\n2024-01-01T00:00:04Z,5\nsometimes,6\n'),
      ]),
    );
    const { rows, counts, examples } = await preview(file, {
      ...plain,
      csv: { delimiter: ',', header: true, skipLines: 0 },
    });
    expect(rows.map(({ fields }) => fields.a)).toEqual([1, 5]);
    expect(counts).toEqual({
      rowsRead: 3,
      rowsLanded: 2,
      rowsRejected: 4,
      rejected: { bad_time: 1, malformed_row: 3 },
    });
    expect(examples.map(({ detail }) => detail)).toEqual([
      'row 3: its time is "sometimes"',
      'line 3: missing columns',
      'line 4: too many columns',
      'line 5: invalid encoding',
    ]);
    expect(examples[1]!.content).toBe('2024-01-01T00:00:01Z');
  });

  test('in an NDJSON file is rejected, and the rest is read', async () => {
    const file = fileOf(
      'broken.ndjson',
      '{"time":"2024-01-01T00:00:00Z","a":1}\n{"time":\n[1]\n"x"\n{"time":"2024-01-01T00:00:04Z","a":5}\n',
    );
    const { rows, counts } = await preview(file, plain);
    expect(rows.map(({ fields }) => fields.a)).toEqual([1, 5]);
    expect(counts.rejected).toEqual({ malformed_row: 3 });
  });

  test.each([
    ['nothing.parquet', ''],
    ['text.parquet', 'time,a\n'],
    ['text.csv.gz', 'time,a\n'],
    ['letter.doc', 'Dear Sir'],
  ])('%s is refused as a whole', async (name, content) => {
    await expect(preview(fileOf(name, content), plain)).rejects.toBeInstanceOf(InputError);
  });

  test('in the mapping is reported at once: missing columns and invalid patterns', async () => {
    const file = csv('time,a', '2024-01-01T00:00:00Z,1');
    const wrong = preview(file, { ...plain, source: { column: 'b' }, fields: { a: 'a', c: 'c', d: 'd' } });
    await expect(wrong).rejects.toThrow(
      /3 problems:\n.*source.column: the file has no column "b"; it has "time", "a"\n.*"c".*\n.*"d"/,
    );
    await expect(preview(file, { ...plain, time: { column: 'time', format: '%Q' } })).rejects.toThrow(/%Q/);
  });
});

test('no text of a mapping or a file becomes SQL', { tags: ['slow'] }, async () => {
  const nasty = `a'); DROP TABLE x; --"`;
  const file = fileOf(
    'nasty.csv',
    `time,"${nasty.replaceAll('"', '""')}"\n2024-01-01T00:00:00Z,5\n2024-01-01T00:00:01Z,"'||1||'"\n`,
  );
  const mapping: MappingInput = {
    ...plain,
    csv: { delimiter: ',', header: true, quote: '"', skipLines: 0 },
    fields: { [nasty]: nasty },
    nullTexts: [`'; SELECT 1; --`],
  };
  expect((await preview(file, mapping)).rows.map(({ fields }) => fields)).toEqual([{ [nasty]: 5 }]);
  const objects = fileOf('nasty.ndjson', `${JSON.stringify({ time: '2024-01-01T00:00:00Z', [nasty]: 5 })}\n`);
  const { csv: _, ...json } = mapping;
  expect((await preview(objects, json)).rows.map(({ fields }) => fields)).toEqual([{ [nasty]: 5 }]);
  const parquet = await parquetOf(
    `SELECT '2024-01-01T00:00:00Z' AS time, 5 AS "${nasty.replaceAll('"', '""')}"`,
  );
  expect((await preview(parquet, json)).rows.map(({ fields }) => fields)).toEqual([{ [nasty]: 5 }]);
  const quote = { ...mapping, csv: { ...mapping.csv, delimiter: "'" } };
  await expect(preview(file, quote)).rejects.toBeInstanceOf(InputError);
});
