import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAlertBook } from '../src/alerts/alert-book.ts';
import { readWarehouseFacts, type WarehouseFacts } from '../src/alerts/read-warehouse-facts.ts';
import { createSilenceWatch } from '../src/alerts/silence-watch.ts';
import { createWorkgroupWatch } from '../src/alerts/watch-workgroup.ts';
import { alertsSchema } from '../src/config/alert-settings.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, systemClock } from '../src/lib/time.ts';
import { createFolderStore } from '../src/storage/folder-store.ts';
import { openTestShard } from '../test/publish/publish-fixture.ts';
import type { Ratio } from './decode.ts';

const DEVICES = 10_000;
const DAYS = 30;
const ROUNDS = 40;
const ROUNDS_TO_WARM_UP = 5;
const CORE_SHARE_MAX = 0.01;

/**
 * The CPU of judging 10,000 devices with a month of days every 30 s: reading the facts, and all conditions.
 * Some days change before each round.
 */
export async function benchAlerts(print: (line: string) => void): Promise<Ratio[]> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-alerts-'));
  const { shard } = await openTestShard(folder, { clock: systemClock });
  try {
    const nowMs = Date.now();
    await shard.transaction(async (connection) => {
      const device = "('00000000-0000-4000-8000-' || lpad(d::VARCHAR, 12, '0'))::UUID";
      await connection.run(`INSERT INTO device_state (device, state, last_seen_ms)
        SELECT ${device}, 'online', ${nowMs} FROM range(${DEVICES}) AS t(d)`);
      await connection.run(`INSERT INTO daily_energy
        SELECT DATE '${new Date(nowMs).toISOString().slice(0, 10)}' - n::INTEGER, ${device}, 'pv', 1000 + d, 'total_energy', 1, 0, 0.99,
          CASE WHEN n > 2 THEN 'final' ELSE 'provisional' END, 1, ${nowMs}, 1
        FROM range(${DEVICES}) AS t(d), range(${DAYS}) AS u(n)`);
    });
    const silences = createSilenceWatch(systemClock);
    let known: { token: string; days: WarehouseFacts['days'] } | undefined;
    const settings = alertsSchema.parse({
      channels: [{ id: 'ops', webhook: { url: 'http://127.0.0.1:9' } }],
    });
    const watch = createWorkgroupWatch({
      workgroupId: 'bench',
      settings: () => settings,
      book: openAlertBook(createFolderStore(join(folder, 'alerts')), silentLogger),
      isOwner: () => true,
      speaksForMachine: () => true,
      send: async () => ({ kind: 'told' }),
      clock: systemClock,
      logger: silentLogger,
      async readFacts() {
        const query = {
          workgroup: { timezone: 'Etc/UTC', devices: [] },
          nowMs: Date.now(),
          closeAfterMs: 2 * DAY_MS,
          known: known?.token,
        };
        const facts = await shard.read((connection) => readWarehouseFacts(connection, query));
        if (facts.days) known = { token: facts.daysToken, days: facts.days };
        const { devices, gaps, lastHour } = facts;
        const seen = silences.look(devices);
        return {
          nowMs,
          retentionMs: HOUR_MS,
          nameOf: (id) => id,
          gaps,
          lastHour,
          silences: seen,
          ...known?.days,
        };
      },
    });
    let cpuMs = 0;
    for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round++) {
      // If a device has a new day, all days are read again.
      await shard.transaction(async (connection) => {
        await connection.run(`UPDATE daily_energy SET computed_at_ms = ${nowMs + round} WHERE day = (SELECT max(day) FROM daily_energy)
          AND device = '00000000-0000-4000-8000-000000000007'`);
      });
      const before = process.cpuUsage();
      await watch.round();
      await watch.settled();
      const { user, system } = process.cpuUsage(before);
      if (round >= ROUNDS_TO_WARM_UP) cpuMs += (user + system) / 1_000 / ROUNDS;
    }
    const share = cpuMs / settings.checkEvery;
    print(
      `judging ${DEVICES.toLocaleString('en')} devices: ${cpuMs.toFixed(1)} ms of CPU, ${(share * 100).toFixed(2)} % of a core`,
    );
    return [
      { name: `judging ${DEVICES} devices within 1 % of a core`, ratio: CORE_SHARE_MAX / share, ratioMin: 1 },
    ];
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
