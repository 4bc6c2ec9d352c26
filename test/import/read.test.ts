import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { MappingInput } from '../../src/import/import-mapping.ts';
import { DEVICE, fileOf, OTHER_DEVICE, parquetOf, preview, testWorkgroup } from './import-fixture.ts';

const plain: MappingInput = { time: { column: 'time' }, device: { id: DEVICE }, fields: { a: 'a' } };
const csv = (...lines: string[]) => fileOf('file.csv', `${lines.join('\n')}\n`);

/** As many rows as a preview shows. */
const SHOWN = 5;

/** The times that are read from cells, by cell, and the number of rejected cells by reason. */
async function timesOf(cells: readonly string[], time: Partial<MappingInput['time']> = {}) {
  const taken: Record<string, string> = {};
  const rejected: Record<string, number> = {};
  for (let from = 0; from < cells.length; from += SHOWN) {
    const some = cells.slice(from, from + SHOWN);
    const lines = some.map((cell, index) => `${cell};${index}`);
    const { rows, counts } = await preview(csv('time;a', ...lines), {
      ...plain,
      csv: { delimiter: ';', header: true, skipLines: 0 },
      time: { column: 'time', zone: 'Europe/Berlin', ...time },
    });
    for (const row of rows) taken[some[row.fields.a as number]!] = row.time;
    for (const [reason, count] of Object.entries(counts.rejected))
      rejected[reason] = (rejected[reason] ?? 0) + count;
  }
  return { taken, rejected };
}

/** The value that is read from a cell, or the reason why its row is rejected. */
async function cellOf(cell: string, more: Partial<MappingInput> = {}) {
  const { rows, counts } = await preview(csv('time;a;b', `2024-01-01T00:00:00Z;${cell};1`), {
    ...plain,
    ...more,
    csv: { delimiter: ';', header: true, skipLines: 0 },
    fields: { a: 'a', b: 'b' },
  });
  expect(counts.rowsRead).toBe(1);
  return rows[0]?.fields.a;
}

describe('times', () => {
  test('of ISO 8601 are taken with any zone, and other texts are rejected with the reason', {
    tags: ['slow'],
  }, async () => {
    const times = {
      '2024-07-01T12:00:00Z': '2024-07-01T12:00:00.000Z',
      '2024-07-01T12:00:00.123456Z': '2024-07-01T12:00:00.123Z',
      '2024-07-01T12:00Z': '2024-07-01T12:00:00.000Z',
      '2024-07-01 12:00+02:00': '2024-07-01T10:00:00.000Z',
      '2024-07-01 12:00:00+02': '2024-07-01T10:00:00.000Z',
      '2024-07-01T12:00:00-0330': '2024-07-01T15:30:00.000Z',
      '2024-07-01 12:00:00 +02:00': '2024-07-01T10:00:00.000Z',
      '2024-07-01t12:00:00z': '2024-07-01T12:00:00.000Z',
      // Without a zone they are of the configured zone.
      '2024-07-01 12:00:00': '2024-07-01T10:00:00.000Z',
      '2024-01-01T12:00': '2024-01-01T11:00:00.000Z',
      '2024-07-01': '2024-06-30T22:00:00.000Z',
      // The first instant.
      '1970-01-01T00:00:00Z': '1970-01-01T00:00:00.000Z',
      '1970-01-01 01:00:00': '1970-01-01T00:00:00.000Z',
    };
    expect(await timesOf(Object.keys(times))).toEqual({ taken: times, rejected: {} });
    expect(await timesOf(['2024-03-31 02:30'])).toEqual({ taken: {}, rejected: { no_such_local_time: 1 } });
    const broken = [
      '2024-02-30 12:00',
      'epoch',
      'infinity',
      '',
      '1969-12-31T23:59:59Z',
      '12000-07-01T12:00:00Z',
      'noon',
    ];
    expect(await timesOf(broken)).toEqual({ taken: {}, rejected: { bad_time: broken.length } });
  });

  test.each([
    ['1719835200', 'seconds', '2024-07-01T12:00:00.000Z'],
    ['1719835200.25', 'seconds', '2024-07-01T12:00:00.250Z'],
    ['1719835200123', 'milliseconds', '2024-07-01T12:00:00.123Z'],
    ['1719835200123456', 'microseconds', '2024-07-01T12:00:00.123Z'],
    ['1719835200123456789', 'nanoseconds', '2024-07-01T12:00:00.123Z'],
    ['-5', 'seconds', 'bad_time'],
    ['01.07.2024 12:00', '%d.%m.%Y %H:%M', '2024-07-01T10:00:00.000Z'],
    ['07/01/24 1:05 PM', '%m/%d/%y %I:%M %p', '2024-07-01T11:05:00.000Z'],
    ['01.07.2024 12:00 +0000', '%d.%m.%Y %H:%M %z', '2024-07-01T12:00:00.000Z'],
    ['31.06.2024 12:00', '%d.%m.%Y %H:%M', 'bad_time'],
  ])('%s as %s is %s', async (cell, format, expected) =>
    expect(await timesOf([cell], { format })).toEqual(
      expected === 'bad_time'
        ? { taken: {}, rejected: { bad_time: 1 } }
        : { taken: { [cell]: expected }, rejected: {} },
    ),
  );

  test('may be in two columns, and their zone may be a fixed offset', async () => {
    const { rows } = await preview(csv('day,clock,a', '01.07.2024,12:00,5'), {
      ...plain,
      time: { column: ['day', 'clock'], format: '%d.%m.%Y %H:%M', zone: '+01:00' },
    });
    expect(rows).toMatchObject([{ time: '2024-07-01T11:00:00.000Z' }]);
  });

  test('are in the zone of the workgroup if the mapping has no zone', async () => {
    const file = csv('time,a', '2024-07-01 12:00:00,5');
    const { rows } = await preview(file, plain, testWorkgroup({ timezone: 'America/New_York' }));
    expect(rows).toMatchObject([{ time: '2024-07-01T16:00:00.000Z' }]);
  });
});

describe('values', () => {
  test.each([
    ['5', 5],
    ['-0.25', -0.25],
    [' 1.5 ', 1.5],
    ['1e3', 1000],
    ['1_000', '1_000'],
    ['1,5', '1,5'],
    ['0x10', '0x10'],
    ['inf', 'inf'],
    ['run', 'run'],
    ['say "so"', 'say "so"'],
    ['-', undefined],
    ['NaN', undefined],
    [' ', undefined],
  ])('%j is %j', async (cell, expected) => expect(await cellOf(cell)).toBe(expected));

  test('with a decimal comma, with groups of thousands and with special texts for no value', {
    tags: ['slow'],
  }, async () => {
    expect(await cellOf('1,5', { decimal: ',' })).toBe(1.5);
    expect(await cellOf('1.234', { decimal: ',' })).toBe('1.234');
    expect(await cellOf('1.234.567,5', { decimal: ',', thousands: '.' })).toBe(1234567.5);
    expect(await cellOf('1.23', { decimal: ',', thousands: '.' })).toBe('1.23');
    expect(await cellOf("12'345.5", { thousands: "'" })).toBe(12345.5);
    expect(await cellOf('-999', { nullTexts: ['-999'] })).toBeUndefined();
    expect(await cellOf('-', { nullTexts: ['-999'] })).toBe('-');
  });

  test('beyond 2^53 keep their digits', async () => {
    const file = csv('time,a', '2024-01-01T00:00:00Z,12345678901234567');
    const { rows, counts } = await preview(file, plain);
    expect(counts.rowsLanded).toBe(1);
    // JSON.parse rounds what is kept as digits.
    expect(rows[0]!.fields.a).toBe(Number('12345678901234567'));
  });
});

describe('devices', () => {
  const mapping: MappingInput = { ...plain, device: { column: 'sn', names: { 'SN-1': OTHER_DEVICE } } };
  const file = () =>
    csv(
      'time,sn,a',
      ...[DEVICE.toUpperCase(), 'SN-1', 'garage', 'attic', ''].map((sn) => `2024-01-01T00:00:00Z,${sn},1`),
    );
  const workgroup = testWorkgroup({ devices: [{ id: DEVICE, name: 'garage' }] });

  test('are UUIDs, or names of the mapping and the configuration; others are rejected', async () => {
    const { rows, counts, examples } = await preview(file(), mapping, workgroup);
    expect(rows.map(({ device }) => device)).toEqual([DEVICE, OTHER_DEVICE, DEVICE]);
    expect(counts.rejected).toEqual({ no_device: 2 });
    expect(examples.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('row 4: no device has the name "attic"'),
      'row 5: it names no device',
    ]);
  });

  test('that are not configured get a UUID from their name, if the mapping asks for it', {
    tags: ['slow'],
  }, async () => {
    const derive = { ...mapping, device: { ...mapping.device, unknown: 'derive' as const } };
    const once = await preview(file(), derive, workgroup);
    const again = await preview(file(), derive, workgroup);
    expect(once.rows[3]!.device).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(again.rows).toEqual(once.rows);
  });

  test('the device of a whole file may be a name, and an unknown name is refused', async () => {
    const of = (id: string) =>
      preview(csv('time,a', '2024-01-01T00:00:00Z,1'), { ...plain, device: { id } }, workgroup);
    expect((await of('garage')).rows).toMatchObject([{ device: DEVICE }]);
    await expect(of('cellar')).rejects.toThrow(/device.id: "cellar" is neither a UUID nor the name/);
  });
});

test('sources are of a column, or one for the whole file', async () => {
  const file = csv('time,channel,a', '2024-01-01T00:00:00Z,east,1', '2024-01-01T00:00:00Z,,2');
  const of = async (source: MappingInput['source']) =>
    (await preview(file, { ...plain, source })).rows.map((row) => row.source);
  expect(await of({ column: 'channel' })).toEqual(['east', null]);
  expect(await of({ name: 'roof' })).toEqual(['roof', 'roof']);
  expect(await of(undefined)).toEqual([null, null]);
});

test('a value a row: the row names the field', async () => {
  const file = csv(
    'time,parameter,value',
    ...['P_AC,5', 'E_DAY,7', ',1', 'STATE,run'].map((rest) => `2024-01-01T00:00:00Z,${rest}`),
  );
  const { fields: _, ...rest } = plain;
  const { rows, counts } = await preview(file, {
    ...rest,
    long: { field: 'parameter', value: 'value', names: { P_AC: 'power_w' } },
  });
  expect(rows.map(({ fields }) => fields)).toEqual([{ power_w: 5 }, { E_DAY: 7 }]);
  expect(counts.rejected).toEqual({ bad_field: 1, no_number: 1 });
});

test('where clocks repeat an hour, each device, source and field has its own order', {
  tags: ['slow'],
}, async () => {
  const times = async (rows: readonly string[], mapping: Partial<MappingInput>) => {
    const file = csv('time,device,source,field,value', ...rows.map((row) => `2026-10-25 ${row}`));
    const { fields: _, ...rest } = plain;
    const read = await preview(file, {
      ...rest,
      time: { column: 'time', zone: 'Europe/Berlin' },
      long: { field: 'field', value: 'value' },
      ...mapping,
    });
    return read.rows.map(({ time }) => time.slice(11, 16));
  };
  const rows = [`02:30,${DEVICE},a,e,1`, `02:30,${DEVICE},a,e,2`];
  const [device, source] = [{ column: 'device' }, { column: 'source' }];
  expect(await times(rows, { device, source })).toEqual(['00:30', '01:30']);
  for (const other of [`${OTHER_DEVICE},a,e`, `${DEVICE},b,e`, `${DEVICE},a,p`])
    expect(await times([rows[0]!, `02:30,${other},2`], { device, source })).toEqual(['00:30', '00:30']);
});

describe('files', () => {
  const lines = 'time,a\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:10Z,2\n';
  const objects = '{"time":"2024-01-01T00:00:00Z","a":1}\n{"time":"2024-01-01T00:00:10Z","a":2}\n';

  test.each([
    ['rows.csv', lines],
    ['rows.csv.gz', gzipSync(lines)],
    ['rows.csv.zst', zstdCompressSync(lines)],
    ['rows.TSV', lines.replaceAll(',', '\t')],
    ['rows.txt', lines.replaceAll(',', ';').replaceAll('\n', '\r\n')],
    ['utf8 bom.csv', `\ufeff${lines}`],
    ['it\'s; "odd".csv', lines],
    ['rows.ndjson', objects],
    ['rows.jsonl.gz', gzipSync(objects)],
    ['rows.ndjson.zst', zstdCompressSync(objects)],
  ])('%s is read', async (name, content) => {
    const { rows } = await preview(fileOf(name, content), plain);
    expect(rows.map(({ time, fields }) => [time, fields.a])).toEqual([
      ['2024-01-01T00:00:00.000Z', 1],
      ['2024-01-01T00:00:10.000Z', 2],
    ]);
  });

  test('Parquet is read with its own types', { tags: ['slow'] }, async () => {
    const file = await parquetOf(`
      SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' AS time, TIMESTAMP '2024-07-01 12:00:00' AS clock, 1704067200 AS epoch,
        DATE '2024-07-01' AS day, UUID '${DEVICE}' AS device, 'east' AS source,
        1.5::FLOAT AS a, 2::TINYINT AS b, 12345678901234567::BIGINT AS c, 1.25::DECIMAL(9, 2) AS d, true AS e,
        '7.5' AS f, NULL::DOUBLE AS g, 18446744073709551615::UBIGINT AS h, [1] AS list`);
    const fields = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => [name, name]));
    const mapping = { ...plain, device: { column: 'device' }, source: { column: 'source' }, fields };
    const { rows } = await preview(file, mapping);
    expect(rows).toEqual([
      {
        time: '2024-01-01T00:00:00.000Z',
        device: DEVICE,
        source: 'east',
        fields: { a: 1.5, b: 2, c: Number('12345678901234567'), d: 1.25, e: true, f: 7.5, h: 2 ** 64 },
      },
    ]);
    const timed = async (column: string, format?: string) =>
      (
        await preview(file, {
          ...mapping,
          time: { column, zone: 'Europe/Berlin', ...(format && { format }) },
        })
      ).rows[0]?.time;
    expect(await timed('clock')).toBe('2024-07-01T10:00:00.000Z');
    expect(await timed('day')).toBe('2024-06-30T22:00:00.000Z');
    expect(await timed('epoch', 'seconds')).toBe('2024-01-01T00:00:00.000Z');
    await expect(timed('epoch')).rejects.toThrow(/time.format: column "epoch" contains numbers/);
    await expect(timed('device')).rejects.toThrow(/column "device" is UUID, which is not a time/);
    await expect(preview(file, { ...plain, fields: { list: 'l' } })).rejects.toThrow(
      /is INTEGER\[\], which cannot be converted to a number/,
    );
  });

  test('members of objects within objects are named by their path', async () => {
    const file = fileOf(
      'rows.ndjson',
      '{"t":1719835200,"data":{"a/b":{"p":5},"x":true}}\n{"t":1719835201,"data":null}\n',
    );
    const { rows, counts } = await preview(file, {
      time: { column: 't', format: 'seconds' },
      device: { id: DEVICE },
      fields: { '/data/a~1b/p': 'p', '/data/x': 'x' },
    });
    expect(rows.map(({ fields }) => fields)).toEqual([{ p: 5, x: 'true' }]);
    expect(counts.rejected).toEqual({ no_number: 1 });
  });

  test('in latin-1, with lines before the header, and without a header', async () => {
    const latin = Buffer.from('Gerät: Dach\nexportiert heute\nZeit;Zähler\n2024-01-01;5\n', 'latin1');
    const { rows } = await preview(fileOf('latin.csv', latin), {
      ...plain,
      csv: { encoding: 'latin-1', skipLines: 2, delimiter: ';', header: true },
      time: { column: 'Zeit' },
      fields: { Zähler: 'total' },
    });
    expect(rows).toMatchObject([{ fields: { total: 5 } }]);
    const bare = await preview(csv('2024-01-01,5', '2024-01-02,6'), {
      ...plain,
      csv: { header: false },
      time: { column: 'column1' },
      fields: { column2: 'a' },
    });
    expect(bare.rows.map(({ fields }) => fields.a)).toEqual([5, 6]);
  });
});
