import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeNews, newsOfImport, newsOfPreview } from '../../src/cli/import/import-news.ts';
import { configSchema } from '../../src/config/config.ts';
import type { ImportSummary } from '../../src/import/import-summary.ts';

const workgroup = configSchema.parse({
  workgroups: [
    {
      id: 'home',
      energyStreams: [{ table: 'solar', field: 'wh', method: 'total_energy', unitField: 'unit' }],
    },
  ],
}).workgroups[0]!;

const use = { position: 0, method: 'total_energy' as const, unit: 'Wh', isUnit: false };

/** The summary of an import of this many sources with 1.5 kWh each, in one month. */
function summaryOf(sources: number): ImportSummary {
  return {
    table: 'solar',
    fields: [
      {
        field: 'wh',
        values: 2_000,
        streams: [{ ...use, taken: 1_990 }],
        rejected: { negative: 7, future: 3 },
      },
      { field: 'unit', values: 2_000, streams: [{ ...use, isUnit: true, taken: 0 }], rejected: {} },
      { field: 'volt', values: null, streams: [], rejected: {} },
    ],
    firstDay: '2026-03-01',
    lastDay: '2026-03-31',
    devices: 3,
    months: Array.from({ length: sources }, (_, index) => ({
      month: '2026-03',
      source: `string ${index + 1}`,
      energyWh: 1_500,
      devices: 3,
      days: 31 - index,
    })),
  };
}

/** The first rows of the file are not needed, or have no fields. */
const noStats = async () => [];

const textOf = async (sources: number) =>
  describeNews(await newsOfImport(summaryOf(sources), workgroup, noStats), 200);

test('an import summary lists a few sources one by one', async () => {
  expect(await textOf(2)).toBe(`
Field  Values  Read by                             Taken  Rejected
wh      2,000  energyStreams.0 (total_energy, Wh)  1,990        10
unit    2,000  energyStreams.0 as its unit             -         -
volt        -  no energy stream                        -         -
  wh rejected, negative: 7
  wh rejected, future: 3

Energy of its 3 devices from 2026-03-01 to 2026-03-31, the days of this import
Month    Source      kWh  Devices  Days
2026-03  string 1  1.500        3    31
2026-03  string 2  1.500        3    30
`);
});

test('an import summary adds up more than eight sources, and says that it does', async () => {
  expect(await textOf(8)).toContain('2026-03  string 8  1.500');
  expect(await textOf(9)).toContain(
    'Month    Source               kWh  Devices  Days\n2026-03  9 sources, added  13.500        3    31\n',
  );
});

test('the summary of a file without any used field names some of its fields', async () => {
  const fields = Array.from({ length: 15 }, (_, index) => ({
    field: `c${index}`,
    values: 1,
    streams: [],
    rejected: {},
  }));
  const { warnings, suggested } = await newsOfImport({ ...summaryOf(0), fields }, workgroup, noStats);
  expect(suggested).toEqual([]);
  expect(warnings).toEqual([
    expect.stringContaining(
      '"c10", "c11" and 3 more.\n  The energy streams of workgroup home read solar.wh.\n  No field looks like energy or power',
    ),
  ]);
});

test('an import without any field needs no advice, and its file is not read again', async () => {
  const unread = () => Promise.reject(new Error('the file is not needed'));
  const news = await newsOfImport({ ...summaryOf(0), fields: [] }, workgroup, unread);
  expect([news.warnings, news.suggested]).toEqual([[], undefined]);
});

test('an import gives no energy if all of its readings were rejected, or none of the accepted ones had a partner', async () => {
  const warningsOf = async (taken: number, sources: number, more: object = {}) => {
    const summary = summaryOf(sources);
    const [first, ...rest] = summary.fields;
    const fields = [{ ...first!, streams: [{ ...use, taken }], ...more }, ...rest];
    return (await newsOfImport({ ...summary, fields }, workgroup, noStats)).warnings;
  };
  expect(await warningsOf(0, 0)).toEqual([
    expect.stringMatching(
      /^this import gives no energy\. All readings .*rejected \(wh: 7 negative, wh: 3 future\)/,
    ),
  ]);
  expect(await warningsOf(1, 0)).toEqual([
    expect.stringContaining('a register needs two readings of a device'),
  ]);
  expect(await warningsOf(1, 1)).toEqual([]);
  // A field without any value was not refused, and has no readings without a partner.
  expect(await warningsOf(0, 0, { values: 0, rejected: {} })).toEqual([]);
});

test('several registers of a file can be one amount or several, and power beside one is neither', () => {
  const register = { values: 3, texts: 0, min: 1, max: 9, risen: 8, fallen: 0, restarts: 0, dropOuts: 0 };
  const warningOf = (...fields: string[]) =>
    newsOfPreview(
      'solar',
      fields.map((field) => ({ field, ...register, dayChanges: 0 })),
      workgroup,
    ).warnings[0];
  expect(warningOf('import_kwh', 'export_kwh')).toContain('If a source has several fields');
  expect(warningOf('import_kwh', 'power_w')).not.toContain('If a source has several fields');
});

const readTotal = async () => [
  {
    field: 'total',
    ...{ values: 3, texts: 0, min: 1, max: 9, risen: 8, fallen: 0, restarts: 0, dropOuts: 0, dayChanges: 0 },
  },
];

test('a file of which only the unit is read has suggestions for its other fields', async () => {
  const { fields, ...summary } = summaryOf(0);
  const news = await newsOfImport({ ...summary, fields: fields.slice(1) }, workgroup, readTotal);
  expect(news.suggested?.map(({ field }) => field)).toEqual(['total']);
  expect(news.warnings[0]).toContain('- { table: solar, field: total, method: total_energy');
});

test('a suggested line for a field without a unit in its name is refused until a person writes the unit', async () => {
  const fields = [{ field: 'total', values: 3, streams: [], rejected: {} }];
  const { warnings } = await newsOfImport({ ...summaryOf(0), fields }, workgroup, readTotal);
  const [, line = ''] = /- (\{.*\}) {3}# only grows, 1 to 9; its name says no unit/.exec(warnings[0]!) ?? [];
  const pasted = (text: string) =>
    configSchema.safeParse({ workgroups: [{ id: 'home', energyStreams: [parse(text)] }] });
  expect(pasted(line).error?.issues[0]?.message).toContain('"unknown" is not a unit of energy; use one of');
  expect(pasted(line.replace('unknown', 'kWh')).success).toBe(true);
});
