// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { guessFile } from '../../src/import/guess-file.ts';
import { openReader } from '../../src/import/open-reader.ts';
import { formatLocal, HOUR_MS, MINUTE_MS, zoneOffsets } from '../../src/lib/time.ts';
import { RefusedFile } from '../../src/upload/refusals.ts';
import { fileOf, preview, testWorkgroup } from '../import/import-fixture.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { readMeters } from '../upload/upload-fixture.ts';

const zones = ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Etc/UTC'];

/** A table of a register as another system writes it. */
interface Table {
  zone: string;
  instants: number[];
  /** Values of the register, kWh, with three decimals. */
  values: number[];
  delimiter: string;
  decimal: '.' | ',';
  thousands: '' | '.' | ',' | ' ' | "'";
  encoding: 'utf8' | 'mark' | 'utf16le' | 'latin1';
  time: 'local' | 'offset' | 'dotted' | 'american';
  titles: number;
}

const tables: fc.Arbitrary<Table> = fc
  .record({
    zone: fc.constantFrom(...zones),
    changeIndex: fc.nat(),
    hoursBefore: fc.integer({ min: 0, max: 6 }),
    values: fc.array(fc.integer({ min: 0, max: 9_999_999 }), { minLength: 3, maxLength: 40 }),
    delimiter: fc.constantFrom(';', ',', '\t', '|'),
    decimal: fc.constantFrom('.' as const, ',' as const),
    thousands: fc.constantFrom('' as const, 'other' as const, ' ' as const, "'" as const),
    encoding: fc.constantFrom('utf8' as const, 'mark' as const, 'utf16le' as const, 'latin1' as const),
    time: fc.constantFrom('local' as const, 'offset' as const, 'dotted' as const, 'american' as const),
    titles: fc.nat(3),
  })
  .map(({ changeIndex, hoursBefore, values, thousands, ...table }) => {
    const changes = zoneOffsets(table.zone, Date.UTC(2005, 0), Date.UTC(2035, 0));
    const { fromMs } = changes[changeIndex % changes.length]!;
    const startMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS - hoursBefore * HOUR_MS;
    const steps = values.toSorted((one, other) => one - other);
    return {
      ...table,
      thousands: thousands === 'other' ? (table.decimal === '.' ? ',' : '.') : thousands,
      instants: values.map((_, index) => startMs + index * 15 * MINUTE_MS),
      values: steps.map((value) => value / 1_000),
    };
  });

function timeOf(ms: number, { zone, time }: Table): string {
  const local = formatLocal(ms, zone);
  const [, year, month, day, clock] = /^(\d+)-(\d+)-(\d+) (\d+:\d+:\d+)/.exec(local)!;
  switch (time) {
    case 'local':
      return local.slice(0, 19);
    case 'offset':
      return local.replace(' ', 'T');
    case 'dotted':
      return `${day}.${month}.${year} ${clock}`;
    case 'american':
      return `${month}/${day}/${year} ${clock}`;
    default:
      return time satisfies never;
  }
}

function numberOf(value: number, { decimal, thousands }: Table): string {
  const [whole, fraction] = value.toFixed(3).split('.');
  return `${whole!.replace(/\B(?=(\d{3})+$)/g, thousands)}${decimal}${fraction}`;
}

function bytesOf(table: Table): Buffer {
  const { delimiter, encoding } = table;
  const line = (cells: readonly string[]) =>
    cells.map((cell) => (cell.includes(delimiter) ? `"${cell}"` : cell)).join(delimiter);
  const text = [
    ...Array.from({ length: table.titles }, (_, index) => line([`Zähler Nr. ${index}`, '', ''])),
    line(['meter_code', 'time', 'value (kWh)']),
    ...table.instants.map((ms, index) =>
      line(['GRID-1', timeOf(ms, table), numberOf(table.values[index]!, table)]),
    ),
  ].join('\r\n');
  switch (encoding) {
    case 'utf8':
      return Buffer.from(text);
    case 'mark':
      return Buffer.from(`\uFEFF${text}`);
    case 'utf16le':
      return Buffer.from(`\uFEFF${text}`, 'utf16le');
    case 'latin1':
      return Buffer.from(text, 'latin1');
    default:
      return encoding satisfies never;
  }
}

/** What must be refused, because nobody can tell what is meant. */
const unclear = /showed ".*" twice|can be .* or |day or the month/;

test.runIf(isSoak)(
  'an upload has the written instants and values, or is refused if they are ambiguous',
  () => {
    let accepted = 0;
    fc.assert(
      fc.property(tables, (table) => {
        try {
          const rows = readMeters(bytesOf(table), { options: { timezone: table.zone } });
          expect(rows.map(({ start }) => start)).toEqual(table.instants);
          expect(rows.map(({ energyWh }) => energyWh)).toEqual(
            table.values.map((value) => Math.round(value * 1e6) / 1e3),
          );
          accepted += 1;
        } catch (error) {
          if (!(error instanceof RefusedFile)) throw error;
          for (const { message } of error.lines) expect(message).toMatch(unclear);
        }
      }),
      { numRuns: rounds(60, 2_000) },
    );
    expect(accepted).toBeGreaterThan(rounds(30, 1_000));
  },
);

test('an import guesses the same encoding, delimiter, heading, numbers and times', async () => {
  await fc.assert(
    fc.asyncProperty(tables, async (table) => {
      const path = fileOf('table.csv', bytesOf(table));
      const workgroup = testWorkgroup({ timezone: table.zone });
      const reader = await openReader(path, { threads: 1 });
      const { mapping, reasons } = await guessFile(reader, workgroup, 't').finally(reader.close);
      const isUnclear = reasons.some(({ why }) => /can be|fits too/.test(why));
      const { rows, counts, firstTime } = await preview(path, mapping, workgroup);
      expect(counts.rowsRead).toBe(table.values.length);
      if (isUnclear) return;
      expect(counts.rowsRejected).toBe(0);
      expect(Object.values(rows[0]!.fields)).toEqual([table.values[0]]);
      const starts = formatLocal(Date.parse(firstTime!), table.zone).slice(0, 19);
      expect(starts).toBe(formatLocal(table.instants[0]!, table.zone).slice(0, 19));
    }),
    { numRuns: rounds(40, 300) },
  );
});
