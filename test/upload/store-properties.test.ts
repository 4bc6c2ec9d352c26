// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MeterRow } from '../../src/upload/upload-rows.ts';
import { rounds } from '../support/rounds.ts';
import { HOUR, interval, intervals, register, registers, T0, withShard } from './store-fixture.ts';

test('after uploads in any order the energy of a register follows from its values and adds up to their growth', () =>
  withShard(async ({ shard, store }) => {
    let meter = 0;
    await fc.assert(
      fc.asyncProperty(
        // Of few values, so that neighbours are often equal.
        fc.uniqueArray(fc.record({ hour: fc.nat(40), wh: fc.nat(4) }), {
          minLength: 2,
          maxLength: 8,
          selector: ({ hour }) => hour,
        }),
        fc.nat(7),
        async (values, cut) => {
          meter += 1;
          const code = `M-${meter}`;
          const rows = values.map(({ hour, wh }) => register(hour, wh, code));
          for (const part of [rows.slice(0, cut), rows.slice(cut)])
            if (part.length > 0) await store(registers(...part));
          const sorted = values.toSorted((a, b) => a.hour - b.hour);
          const expected = sorted.slice(1).map((value, index) => {
            const before = sorted[index]!;
            return [before.hour, value.hour, value.wh >= before.wh ? value.wh - before.wh : null];
          });
          const found = await shard.transaction((connection) =>
            connection.runAndReadAll(
              `SELECT ((start_ms - ${T0}) / ${HOUR})::INTEGER, ((end_ms - ${T0}) / ${HOUR})::INTEGER, energy_wh
               FROM meter_reading WHERE replaced_by IS NULL AND meter_code = '${code}' ORDER BY start_ms`,
            ),
          );
          expect(found.getRows()).toEqual(expected);
        },
      ),
      { numRuns: rounds(4, 25) },
    );
  }));

test('after uploads in any order valid intervals never overlap, leave no gap, and have the energy of the last upload', () =>
  withShard(async ({ shard, store }) => {
    let meter = 0;
    // Consecutive intervals from an hour on, of these lengths; a length of 0 leaves an hour out.
    const upload = fc.record({
      from: fc.nat(6),
      lengths: fc.array(fc.nat(4), { minLength: 1, maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(upload, { minLength: 1, maxLength: 5 }), async (uploads) => {
        meter += 1;
        const code = `M-${meter}`;
        let expected: Array<[number, number, number, number]> = [];
        for (const [index, { from, lengths }] of uploads.entries()) {
          let at = from;
          const rows: MeterRow[] = [];
          for (const length of lengths) {
            if (length > 0) rows.push(interval(at, length, 1000 * (index + 1) + at, code));
            at += Math.max(1, length);
          }
          if (rows.length === 0) continue;
          const places = rows.map(
            ({ start, end, energyWh }) => [(start - T0) / HOUR, (end - T0) / HOUR, energyWh] as const,
          );
          const shared = ([s, e]: readonly number[], [from, to]: readonly number[]) =>
            Math.max(0, Math.min(e!, to!) - Math.max(s!, from!));
          const hit = expected.filter((old) => places.some((place) => shared(old, place) > 0));
          const isCut = hit.some(
            (old) => places.reduce((sum, place) => sum + shared(old, place), 0) < old[1] - old[0],
          );
          expect((await store(intervals(...rows))).kind).toBe(isCut ? 'refused' : 'stored');
          if (isCut) continue;
          const added = places.map(([s, e, wh]): [number, number, number, number] => {
            const below = expected
              .filter((old) => shared(old, [s, e]) > 0)
              .map(([, , , revision]) => revision);
            return [s, e, wh, 1 + Math.max(0, ...below)];
          });
          expected = [...expected.filter((old) => !hit.includes(old)), ...added].sort((a, b) => a[0] - b[0]);
        }
        const found = await shard.transaction((connection) =>
          connection.runAndReadAll(
            `SELECT ((start_ms - ${T0}) / ${HOUR})::INTEGER, ((end_ms - ${T0}) / ${HOUR})::INTEGER, energy_wh, revision
             FROM meter_reading WHERE replaced_by IS NULL AND meter_code = '${code}' ORDER BY start_ms`,
          ),
        );
        expect(found.getRows()).toEqual(expected);
      }),
      { numRuns: rounds(4, 25) },
    );
  }));
