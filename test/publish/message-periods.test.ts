// @module-tag slow
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { isOver, periodBounds } from '../../src/publish/lake-period.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { landMessages, openFixture, rows } from './publish-fixture.ts';

/** Messages of one hour in the past, and whether the lake is published after they have landed. */
interface Landing {
  hoursAgo: number;
  table: string;
  count: number;
  publishes: boolean;
}

const landing: fc.Arbitrary<Landing> = fc.record({
  // Hours of today, of the days before, and of months that are over.
  hoursAgo: fc.oneof(fc.nat(15), fc.integer({ min: 24, max: 96 }), fc.integer({ min: 560, max: 1_600 })),
  table: fc.constantFrom('solar', 'wind'),
  count: fc.integer({ min: 1, max: 4 }),
  publishes: fc.nat(3).map((chance) => chance === 0),
});
const one: Landing = { hoursAgo: 0, table: 'solar', count: 1, publishes: true };

test('for any hours and publications, each message is in one file, and the period of the file contains it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(landing, { minLength: 6, maxLength: 14 }), async (landings) => {
      const at = await openFixture(tempDir(), createTestClock());
      try {
        // A log is in the order of its store times.
        const inOrder = landings.toSorted((a, b) => b.hoursAgo - a.hoursAgo);
        for (const [index, { hoursAgo, table, count, publishes }] of inOrder.entries()) {
          const storeTimeMs = TEST_START_MS - (hoursAgo + 1) * HOUR_MS + index * 1_000;
          await landMessages(at.shard, { count, storeTimeMs, table });
          if (publishes) await at.publish();
        }
        await at.publish();
        const landed = await at.shard.read((connection) =>
          rows(connection, 'SELECT stream_offset::VARCHAR FROM message ORDER BY stream_offset'),
        );
        expect(
          await at.analyse('SELECT stream_offset::VARCHAR FROM messages ORDER BY stream_offset'),
        ).toEqual(landed);
        const files = await at.analyse(
          `SELECT hour, epoch_ms(min(store_time))::DOUBLE, epoch_ms(max(store_time))::DOUBLE
           FROM read_parquet('${join(at.paths.current, 'messages/**/*.parquet')}', hive_partitioning = true, hive_types_autocast = false, filename = true)
           GROUP BY hour, filename`,
        );
        for (const [period, firstMs, lastMs] of files as Array<[string, number, number]>) {
          const { startMs, endMs } = periodBounds(period);
          expect([period, firstMs >= startMs, lastMs < endMs]).toEqual([period, true, true]);
          if (period.length < 13) expect([period, isOver(period, TEST_START_MS)]).toEqual([period, true]);
        }
      } finally {
        await at.shard.close();
      }
    }),
    { numRuns: rounds(2, 60), seed: 20_261_122, examples: [[[one]], [[{ ...one, hoursAgo: 2_000 }]]] },
  );
});
