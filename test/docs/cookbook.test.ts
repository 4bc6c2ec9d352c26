import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { offsetOf } from '../../src/contract/offset.ts';
import { storeCorrection } from '../../src/correction/store-correction.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, dayStart, HOUR_MS, INTERVAL_MS } from '../../src/lib/time.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import { createSite } from '../../src/simulate/create-site.ts';
import { readText } from '../../src/upload/read-upload.ts';
import { storeUpload } from '../../src/upload/store-upload.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { openTestShard, WORKGROUP } from '../publish/publish-fixture.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { askRecipe, recipes } from '../support/recipes.ts';
import { rounds, sampled } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const timezone = 'Europe/Paris';
const startMs = dayStart('2026-10-24', timezone);
const DAYS = rounds(5, 8);

/**
 * A lake of a simulated site with uploads, faults, outages and a day that was restated.
 * @returns where it lies
 */
async function publishSite(): Promise<string> {
  const site = createSite({ seed: 7, timezone, startMs, readingEveryMs: INTERVAL_MS });
  const inverter = site.devices[0]!.id;
  const workgroup = configSchema.parse({
    workgroups: [
      {
        id: WORKGROUP,
        timezone,
        devices: site.devices.map((device) => ({
          ...device,
          ...(device.name.startsWith('inverter') && { peakPower: [{ kWp: 5 }] }),
        })),
        roles: site.roles,
        energyStreams: site.energyStreams,
        meters: [{ code: 'PV', device: inverter }, { code: 'REVENUE' }],
        sites: [{ name: 'roof', meters: [{ code: 'REVENUE' }], devices: [{ id: inverter }] }],
      },
    ],
  }).workgroups[0]!;
  const clock = createTestClock(startMs);
  const { shard, lakeDir } = await openTestShard(tempDir(), { clock });

  async function land(messages: Array<{ table: string; store_time: number; [field: string]: unknown }>) {
    const at = await shard.checkpoint('stream');
    const whole = messages.map((message, index) => ({
      kind: 'state' in message ? 'device_status' : message.table === 'audit_logs' ? 'audit' : 'telemetry',
      source: null,
      ...message,
      offset: offsetOf(message.store_time) + BigInt(index),
    }));
    const landed = await shard.land({
      origin: 'stream',
      columns: messagesToColumns(whole, shard.names),
      fromOffset: at?.nextOffset,
      nextOffset: whole.at(-1)!.offset + 1n,
      logEpoch: 'test',
    });
    expect(landed).toMatchObject({ kind: 'landed', messages: messages.length });
  }
  async function work(nowMs: number) {
    clock.set(nowMs);
    await shard.transaction((connection) => noteDeviceStatus(connection, nowMs));
    await rollUp(shard, { workgroup, clock, closeAfterMs: 2 * DAY_MS, logger: silentLogger });
    await publishAndRenew(shard, { lakeDir, declared: workgroup, clock, logger: silentLogger });
  }
  async function upload(topic: 'meter-data' | 'budget', text: string) {
    const read = { topic, name: 'file.csv', meters: workgroup.meters, options: {} };
    const stored = await storeUpload(
      shard,
      readText(Buffer.from(text), 'csv', read),
      { name: 'file.csv', actor: 'test', again: false },
      clock.now(),
    );
    expect(stored.kind).toBe('stored');
  }

  try {
    const untilMs = startMs + DAYS * DAY_MS;
    const arrivals = site.arrivals(startMs, untilMs);
    await land(arrivals.map(({ arrivedMs, table, item }) => ({ table, ...item, store_time: arrivedMs })));
    await work(untilMs);
    await work(untilMs + 5 * DAY_MS);
    const lateMs = untilMs + 5 * DAY_MS + HOUR_MS;
    const midnightMs = dayStart('2026-10-27', timezone);
    const { item: told } = arrivals.find(
      ({ table, item }) =>
        table === 'grid' && 'data' in item && item.source === 'import' && item.event_time === midnightMs,
    )!;
    if (!('data' in told)) throw new Error('no telemetry');
    const data = { ...told.data, register_wh: (told.data.register_wh as number) - 2 };
    const common = { table: 'solar', store_time: lateMs, device: inverter };
    await land([
      { ...told, table: 'grid', store_time: lateMs, msg_id: 999_999_999, data },
      { ...common, event_time: lateMs, data: { total_wh: 'broken' } },
      { ...common, table: 'devices', event_time: lateMs, state: 'offline', reason: 'timeout' },
      {
        table: 'audit_logs',
        store_time: lateMs,
        device: null,
        event_time: lateMs,
        actor: 'cli',
        action: 'token.created',
        target: 'one',
        data: { name: 'dashboard' },
      },
    ]);
    clock.set(lateMs);
    const hours = Array.from({ length: DAYS * 24 }, (_, hour) => {
      const at = (ms: number) => new Date(startMs + ms * HOUR_MS).toISOString();
      return `REVENUE,${at(hour)},${at(hour + 1)},1.25`;
    });
    await upload('meter-data', `meter_code,interval_start,interval_end,energy_kwh\n${hours.join('\n')}\n`);
    await upload('budget', 'meter_code,period,energy_kwh,scenario\nPV,2026-10,600,P50\nPV,2026-11,500,P50\n');
    await correctDays(shard, inverter, clock.now());
    await work(lateMs);
  } finally {
    await shard.close();
  }
  return join(lakeDir, WORKGROUP);
}

/** Sets a day of a device, and undoes it, and sets another one. */
async function correctDays(shard: Shard, device: string, nowMs: number): Promise<void> {
  const of = { device, source: 'default' };
  const options = { author: 'anna', dryRun: false, nowMs, closeAfterMs: 2 * DAY_MS };
  const set = { kind: 'set_day', ...of, energyWh: 12_345, reason: 'the bill' } as const;
  const { correction } = await storeCorrection(shard, { ...set, day: '2026-10-25' }, options);
  await storeCorrection(shard, { kind: 'undo', correctionId: correction.id, reason: 'no' }, options);
  await storeCorrection(shard, { ...set, day: '2026-10-26' }, options);
}

test('every query of the cookbook gives the described rows and columns, on the views and on the files', {
  tags: ['slow'],
}, async () => {
  expect(new Set(recipes.map(({ title }) => title)).size).toBeGreaterThanOrEqual(12);
  const lake = await publishSite();
  const csv = join(tempDir(), 'daily-energy-2026.csv');
  const problems: string[] = [];
  // On the files every third query, in the soak all.
  const files = new Set(
    sampled(
      recipes.filter(({ isOnFiles }) => isOnFiles),
      3,
    ),
  );
  for (const recipe of recipes.filter((one) => !one.isOnFiles || files.has(one))) {
    const { title, columns } = recipe;
    try {
      const answer = await askRecipe(lake, recipe, (sql) =>
        sql.replace("'daily-energy-2026.csv'", `'${csv}'`),
      );
      // A column that is always empty is not what the page promises.
      const said = answer.columns.filter((name) => answer.rows.some((row) => row[name] !== null));
      if (said.join() !== columns.join())
        problems.push(`${title}: ${answer.rows.length} rows with values in ${said.join()}`);
    } catch (error) {
      problems.push(`${title}: ${error}`);
    }
  }
  expect(problems).toEqual([]);
});

test.each([...new Map(recipes.map((one) => [one.title, one])).values()])(
  '$title says what it answers and what to beware of',
  ({ says, columns }) => {
    expect(says).toMatch(/^.+\n\n[A-Z].+\?\n/);
    expect(says).toContain('\nBeware: ');
    expect(columns.length).toBeGreaterThan(0);
  },
);
