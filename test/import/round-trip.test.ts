// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MappingInput } from '../../src/import/import-mapping.ts';
import { rounds } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, fileOf, importInto, messagesIn, OTHER_DEVICE, parquetOf } from './import-fixture.ts';

const fields = ['a', 'b', 'odd "name", really'];
const mapping: MappingInput = {
  time: { column: 'time', format: 'milliseconds' },
  device: { column: 'device' },
  source: { column: 'source' },
  fields: Object.fromEntries(fields.map((field) => [field, field])),
};

interface Row {
  time: number;
  device: string;
  source: string | null;
  values: Array<number | string | null>;
}

// Text that is not a number and not a word for "no value".
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).map((part) => `x${part}x`);
// Minus zero has no separate text, and whole numbers beyond 2^53 are kept as digits.
const isPlain = (value: number) => !Object.is(value, -0) && !/^-?\d{16,}$/.test(String(value));
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isPlain),
  fc.integer({ min: -1_000, max: 1_000_000 }),
);
const rowArbitrary: fc.Arbitrary<Row> = fc.record({
  time: fc.integer({ min: 0, max: Date.UTC(2029, 0) }),
  device: fc.constantFrom(DEVICE, OTHER_DEVICE),
  source: fc.option(text),
  // The first is always a number: a row without any is rejected.
  values: fc.tuple(number, fc.oneof(number, text, fc.constant(null)), fc.option(number)),
});

const cell = (value: unknown) => (value === null ? '' : `"${String(value).replaceAll('"', '""')}"`);
const literal = (value: unknown) => (value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`);

const formats: Record<string, (rows: Row[]) => string | Promise<string>> = {
  CSV: (rows) => {
    const header = ['time', 'device', 'source', ...fields].map(cell).join(',');
    const lines = rows.map(({ time, device, source, values }) =>
      [time, device, source, ...values].map(cell).join(','),
    );
    return fileOf('rows.csv', `${[header, ...lines].join('\r\n')}\r\n`);
  },
  NDJSON: (rows) => {
    const objects = rows.map(({ values, ...rest }) => ({
      ...rest,
      ...Object.fromEntries(fields.map((field, index) => [field, values[index]])),
    }));
    return fileOf('rows.ndjson', `${objects.map((one) => JSON.stringify(one)).join('\n')}\n`);
  },
  Parquet: (rows) => {
    const selects = rows.map(
      ({ time, device, source, values }) =>
        `(${time}, ${literal(device)}::UUID, ${literal(source)}, ${literal(values[0])}::DOUBLE, ${literal(values[1])}::VARCHAR, ${literal(values[2])}::DOUBLE)`,
    );
    const names = ['time', 'device', 'source', ...fields].map(cell).join(', ');
    return parquetOf(`SELECT * FROM (VALUES ${selects.join(', ')}) AS rows(${names})`);
  },
};

test.each(Object.keys(formats))(
  'what is imported from %s reads back equal: times, devices, sources, values',
  async (format) => {
    const shard = await openTestShard();
    let before = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(rowArbitrary, { minLength: 1, maxLength: 40 }), async (rows) => {
        const path = await formats[format]!(rows);
        const outcome = await importInto(shard, path, mapping, { batchRows: 2_048 });
        if (outcome.kind === 'landed-before') return;
        const messages = (await messagesIn(shard)).slice(before);
        before += messages.length;
        expect(messages).toEqual(
          rows.map(({ time, device, source, values }) => ({
            time_ms: time,
            device,
            source,
            table: 't',
            data: Object.fromEntries(
              fields.flatMap((field, index) => (values[index] === null ? [] : [[field, values[index]]])),
            ),
          })),
        );
      }),
      { numRuns: rounds(6, 25) },
    );
  },
);
