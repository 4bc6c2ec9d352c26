import { expect, test } from 'vitest';
import { DEVICE, fileOf, preview, testWorkgroup } from './import-fixture.ts';

const mapping = {
  time: { column: 'time' },
  device: { id: DEVICE },
  source: { column: 'source' },
  fields: { a: 'a', b: 'b' },
};
const csv = (heading: string, ...rows: string[]) => fileOf('log.csv', `${[heading, ...rows].join('\n')}\n`);
const longest = 'x'.repeat(128);

test('a row is read up to the longest name and the last instant, and its texts are cut', async () => {
  const { rows, counts, examples } = await preview(
    csv(
      'time,source,a,b',
      `9999-12-31T23:59:59Z,${longest},1,${'y'.repeat(5_000)}`,
      `2026-01-01T00:00Z,${longest}x,1,${'z'.repeat(3_000)}`,
      '2026-01-01T00:00Z,,,on',
      'epoch,,1,',
      'infinity,,1,',
      '10000-01-01T00:00:00Z,,1,',
    ),
    mapping,
  );
  expect(rows).toEqual([
    {
      time: '9999-12-31T23:59:59.000Z',
      device: DEVICE,
      source: longest,
      fields: { a: 1, b: 'y'.repeat(4_096) },
    },
  ]);
  expect(counts.rejected).toEqual({ bad_source: 1, no_number: 1, bad_time: 3 });
  expect(examples[0]!.detail).toBe('row 2: its source is too long');
  expect(examples[0]!.content).toHaveLength(2_000);
});

test('in an hour that clocks repeat, the rows of each device, source and field have their own order', async () => {
  const twice = '2026-10-25 02:30';
  const workgroup = testWorkgroup({ timezone: 'Europe/Berlin' });
  const long = {
    time: { column: 'time', zone: 'Europe/Berlin' },
    device: { id: DEVICE },
    source: { column: 'source' },
    long: { field: 'field', value: 'value' },
  };
  const { rows, counts } = await preview(
    csv(
      'time,source,field,value',
      `${twice},s,p,1`,
      `${twice},t,p,2`,
      `${twice},s,q,3`,
      `${twice},s,p,4`,
      `${twice},s,${longest},5`,
      `${twice},s,${longest}x,6`,
    ),
    long,
    workgroup,
  );
  expect(
    rows.map(({ time, source, fields }) => [time.slice(11, 16), source, ...Object.keys(fields)]),
  ).toEqual([
    ['00:30', 's', 'p'],
    ['00:30', 't', 'p'],
    ['00:30', 's', 'q'],
    ['01:30', 's', 'p'],
    ['00:30', 's', longest],
  ]);
  expect(counts.rejected).toEqual({ bad_field: 1 });
});
