// @module-tag slow
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EnergyStreamInput, energyStreamSchema } from '../../src/config/energy-stream.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { CANARY, POISON_START_MS, poisonMessages, poisonPosts } from './poison-streams.ts';

/** One stream of each kind; those of the same table share their messages. */
const streams: EnergyStreamInput[] = [
  { table: 'total', field: 'total', method: 'total_energy', unitField: 'unit' },
  { table: 'net', field: 'total', method: 'total_energy', register: 'net' },
  { table: 'today', field: 'total', method: 'daily_energy', unit: 'kWh' },
  { table: 'power', field: 'power', method: 'power_curve' },
  { table: 'power', field: 'power', method: 'power_curve', direction: 'negative', as: 'fed in' },
  { table: 'average', field: 'power', method: 'power_curve', sampling: 'interval_average', unit: 'kW' },
  { table: 'block', field: 'power', method: 'interval_energy', interval: '15m' },
  { table: 'beside', field: 'total', method: 'total_energy', maxPower: '10 kW' },
  { table: 'beside', field: 'total', method: 'daily_energy' },
  { table: 'beside', field: 'power', method: 'power_curve', sampling: 'on_change' },
  { table: 'giga', field: 'total', method: 'total_energy', unit: 'TWh', maxPower: '1000 GW', modulus: 100 },
  { table: 'canary', field: 'total', method: 'total_energy' },
];
const workgroup = {
  id: 'acme',
  timezone: 'Europe/Berlin',
  energyStreams: streams.map((stream) => energyStreamSchema.parse(stream)),
  devices: [],
  roles: [],
  deviceGroups: {},
  meters: [],
  sites: [],
};
const clock = { now: () => POISON_START_MS + DAY_MS };

async function land(shard: Shard, messages: ReadonlyArray<Record<string, unknown>>): Promise<void> {
  const from = (await shard.checkpoint('stream'))?.nextOffset ?? 1_000n;
  const placed = messages.map((message, index) => ({ offset: from + BigInt(index), ...message }));
  const landed = await shard.land({
    origin: 'stream',
    columns: messagesToColumns(placed, shard.names),
    fromOffset: from,
    nextOffset: from + BigInt(placed.length),
    logEpoch: 'log-1',
  });
  expect(landed.kind).toBe('landed');
}

test('a healthy device is exact and published after each post, with any poison beside it and through restarts', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(poisonPosts, async (posts) => {
      const folder = tempDir();
      const lakeDir = join(folder, 'lake');
      const open = () => openTestShard({ path: join(folder, 'acme.duckdb'), folders: [lakeDir] });
      let shard = await open();
      for (const [index, { readings, restarts }] of posts.entries()) {
        if (restarts) {
          await shard.close();
          shard = await open();
        }
        const canary = [0, 5].map((minute) => {
          const atMs = POISON_START_MS + (index * 10 + minute) * MINUTE_MS;
          const total = 5_000 + (index * 10 + minute) * 10;
          return {
            table: 'canary',
            kind: 'telemetry',
            device: CANARY,
            source: null,
            event_time: atMs,
            store_time: atMs + 1_000,
            data: { total },
          };
        });
        await land(shard, [...poisonMessages(readings), ...canary]);
        await rollUp(shard, { workgroup, clock, closeAfterMs: 2 * DAY_MS, logger: silentLogger });
        const days = await rowsOf(
          shard,
          `SELECT energy_wh::INTEGER AS wh, (flags & ~128)::INTEGER AS flags FROM daily_energy WHERE device = '${CANARY}'`,
        );
        expect(days).toEqual([{ wh: (index * 10 + 5) * 10, flags: 0 }]);
        const published = await publishAndRenew(shard, {
          lakeDir,
          declared: workgroup,
          clock,
          logger: silentLogger,
        });
        expect(published.kind).toBe('published');
      }
      // Nothing had to be set aside for it.
      expect(await rowsOf(shard, 'FROM set_aside')).toEqual([]);
      await shard.close();
    }),
    { numRuns: rounds(1, 8), seed: 20_261_122, endOnFailure: !isSoak },
  );
});
