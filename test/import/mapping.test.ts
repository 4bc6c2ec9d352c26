import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { mappingText } from '../../src/cli/import/mapping-files.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { blocksOf } from '../support/readme.ts';
import { DEVICE } from './import-fixture.ts';

const least = { time: { column: 'time' }, device: { id: DEVICE }, fields: { a: 'a' } };

test('all errors of a mapping are reported together, each with its place', () => {
  const { error } = mappingSchema.safeParse({
    time: { column: 'time', format: 'yesterday', zone: 'Mars/Olympus' },
    device: { column: 'sn', id: 'garage', names: { one: 'no uuid' } },
    source: {},
    fields: { a: 'x' },
    csv: { delimiter: 'ab', encoding: 'ebcdic' },
    colour: 'blue',
  });
  const paths = zodProblems(error!).map(({ path }) => path);
  expect(paths).toEqual([
    'csv.delimiter',
    'csv.encoding',
    'time.format',
    'time.zone',
    'device.names.one',
    'device',
    'source',
    'colour',
  ]);
});

test.each([
  ['fields', { ...least, fields: { a: 'x', b: 'x' } }],
  ['fields', { ...least, fields: undefined }],
  ['fields', { ...least, fields: {} }],
  ['fields', { ...least, long: { field: 'f', value: 'v' } }],
  ['thousands', { ...least, decimal: ',', thousands: ',' }],
  ['device', { ...least, device: {} }],
  ['device', { ...least, device: { id: 'a', column: 'b' } }],
  ['nullTexts', { ...least, nullTexts: ['\0'] }],
  ['fields', { ...least, fields: { 'a\0': 'a' } }],
  ['time', { ...least, time: { column: ['time', '\0'] } }],
  ['time.zone', { ...least, time: { column: 'time', zone: '+15:00' } }],
  ['time.column', { ...least, time: { column: ['a', 'b', 'c', 'd', 'e'] } }],
])('a mapping with a contradiction in %s is refused', (path, input) => {
  const { error } = mappingSchema.safeParse(input);
  expect(zodProblems(error!).map((problem) => problem.path)).toEqual([path]);
});

describe('a mapping', () => {
  test('is shown in the documentation as it may be', () => {
    const shown = blocksOf('docs/import-and-backfill.md', 'yml').map((text) =>
      mappingSchema.parse(parse(text)),
    );
    expect(shown).toMatchObject([{ fields: { Pac: 'power_w' }, decimal: ',' }]);
  });

  test('is the same after it was written and read again', () => {
    const mapping = mappingSchema.parse({ ...least, time: { column: ['Date', 'Time'], zone: '+01:00' } });
    expect(mappingSchema.parse(JSON.parse(JSON.stringify(mapping)))).toEqual(mapping);
  });

  test.each([['Time'], ['Date', 'Time']])('is the same after it was printed and read again', (...column) => {
    const mapping = mappingSchema.parse({ ...least, time: { column } });
    expect(mappingSchema.parse(parse(mappingText(mapping)))).toEqual(mapping);
  });
});
