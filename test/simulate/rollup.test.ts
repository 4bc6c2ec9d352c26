// @module-tag slow
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { addDays, DAY_MS, dayStart, HOUR_MS, INTERVAL_MS } from '../../src/lib/time.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import { createSite, type Site } from '../../src/simulate/create-site.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { sampled } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';

/** Lands the arrivals up to an instant, and rolls them up. */
async function live(shard: Shard, site: Site, untilMs: number): Promise<void> {
  const checkpoint = await shard.checkpoint('stream');
  const fromOffset = checkpoint?.nextOffset ?? 1n;
  const messages = [...site.messagesUntil(untilMs)]
    .flatMap(({ table, items }) => items.map((item) => ({ ...item, table, store_time: untilMs })))
    .map((message, index) => ({ ...message, offset: fromOffset + BigInt(index) }));
  const nextOffset = fromOffset + BigInt(messages.length);
  const columns = messagesToColumns(messages, shard.names);
  await shard.land({ origin: 'stream', columns, fromOffset, nextOffset, logEpoch: 'log' });
  const { timezone, energyStreams, devices } = site;
  const config = configSchema.parse({ workgroups: [{ id: 'acme', timezone, energyStreams, devices }] });
  await rollUp(shard, {
    workgroup: config.workgroups[0]!,
    clock: { now: () => untilMs },
    closeAfterMs: 2 * DAY_MS,
    logger: silentLogger,
  });
}

test.each(
  sampled<[string, string, number]>(
    [
      ['Europe/Paris', '2026-10-24', 0],
      ['Asia/Kolkata', '2026-12-20', 15.5],
    ],
    2,
  ),
)(
  'the roll-up of what a site sends is its truth, to the watt-hour: %s from %s',
  async (timezone, first, hour) => {
    const startMs = dayStart(first, timezone) + hour * HOUR_MS;
    const site = createSite({ seed: 4, timezone, startMs, readingEveryMs: INTERVAL_MS });
    const shard = await openTestShard();
    const days = [first, addDays(first, 1), addDays(first, 2)];
    // First with some messages still to arrive, then with all.
    for (const untilMs of [startMs + 20 * HOUR_MS, startMs + 40 * HOUR_MS, site.settledMs(days[2]!)]) {
      await live(shard, site, untilMs);
    }
    const rows = await rowsOf(
      shard,
      'SELECT CAST(day AS VARCHAR) AS day, CAST(device AS VARCHAR) AS device, source, energy_wh FROM daily_energy',
    );
    const found = rows
      .filter(({ day }) => days.includes(String(day)))
      .map(({ day, device, source, energy_wh }) => `${day} ${device} ${source} ${energy_wh}`);
    const expected = days.flatMap((day) =>
      site.truth(day).map(({ device, source, energyWh }) => `${day} ${device} ${source} ${energyWh}`),
    );
    expect(found.sort()).toEqual(expected.sort());
    expect(found.length).toBeGreaterThanOrEqual(24);
  },
);
