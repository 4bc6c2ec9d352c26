import { silentLogger } from '../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, type UtcMs } from '../src/lib/time.ts';
import { assignmentOf } from '../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../src/pipeline/open-assignment.ts';
import type { OpenShard } from '../src/pipeline/open-shard.ts';
import { operations } from '../src/pipeline/operations.ts';
import { loadConfig } from '../test/support/load-config.ts';

export const YEAR_WORKGROUP = 'year';
export const YEAR_DEVICES = 100;
const STEP_MS = 5 * MINUTE_MS;
const BATCHES_A_DAY = 24;
const DAYS_BETWEEN_MAINTENANCE = 5;

/** The id of a device of the year. Its new messages have the same id. */
export function yearDevice(index: number): string {
  return `5f1d${index.toString(16).padStart(4, '0')}-9c3e-4b1a-8f6d-000000000001`;
}

/** The register of a device at an instant, Wh: 24 kWh a day, most of them at noon. */
export function yearRegisterWh(device: number, atMs: UtcMs): number {
  const days = atMs / DAY_MS;
  return 1_000_000 + device * 1_000 + 24_000 * (days - 20_000 - Math.sin(2 * Math.PI * days) / (2 * Math.PI));
}

/**
 * Fills the warehouse and the lake of a folder as a service does that has received a message of each device
 * every five minutes. Day after day it lands, rolls up and publishes. Every few days it merges and deletes.
 * @param endMs the last message is just before this instant
 */
export async function fillYear(
  cwd: string,
  { days, endMs, print }: { days: number; endMs: UtcMs; print: (line: string) => void },
): Promise<void> {
  const config = loadConfig({ cwd, environment: {} });
  const workgroup = config.workgroups.find(({ id }) => id === YEAR_WORKGROUP)!;
  let nowMs = endMs - days * DAY_MS;
  const clock = { now: () => nowMs };
  const open = await openAssignment(assignmentOf(config, workgroup), clock, silentLogger);
  try {
    for (let day = 0; day < days; day++) {
      const fromMs = nowMs;
      nowMs += DAY_MS;
      await landDay(open, day, fromMs, nowMs);
      while ((await operations.rollUp(open, undefined)).more);
      await operations.publish(open, undefined);
      if ((day + 1) % DAYS_BETWEEN_MAINTENANCE === 0) {
        nowMs += HOUR_MS;
        await operations.maintain(open, { dryRun: false });
        nowMs -= HOUR_MS;
      }
      if ((day + 1) % 50 === 0) print(`${day + 1} of ${days} days are in the lake`);
    }
  } finally {
    await closeAssignment(open);
  }
}

/** Puts the messages of a day into the warehouse with the rows that landing would write. */
async function landDay({ shard }: OpenShard, day: number, fromMs: UtcMs, toMs: UtcMs): Promise<void> {
  const [table, source, field] = ['solar', 'pv', 'total_wh'].map((name) => shard.names.idOf(name));
  await shard.transaction(async (connection) => {
    for (const { id, name } of shard.names.takeNew().names)
      await connection.run(`INSERT INTO name VALUES (${id}, '${name}')`);
    const firstBatch = 1 + day * BATCHES_A_DAY;
    const batchMs = (toMs - fromMs) / BATCHES_A_DAY;
    const at = `s.range * ${STEP_MS} + d.range * 1000`;
    await connection.run(
      `INSERT INTO message (batch_id, stream_offset, table_id, kind, device, source_id, event_time_ms, store_time_ms, message_id, field_ids, numbers, other)
       SELECT ${firstBatch} + (${at}) // ${batchMs}, ((${fromMs} + ${at})::UBIGINT << 20) + d.range, ${table}, 0,
         ('5f1d' || lpad(to_hex(d.range), 4, '0') || '-9c3e-4b1a-8f6d-000000000001')::UUID, ${source},
         ${fromMs} + ${at}, ${fromMs} + ${at} + 500, NULL, [${field}],
         [round(1000000 + d.range * 1000 + 24000 * ((${fromMs} + ${at}) / ${DAY_MS} - 20000 - sin(2 * pi() * (${fromMs} + ${at}) / ${DAY_MS}) / (2 * pi())), 3)], NULL
       FROM range(0, ${(toMs - fromMs) / STEP_MS}) s, range(${YEAR_DEVICES}) d
       ORDER BY s.range, d.range`,
    );
    await connection.run(
      `INSERT INTO batch SELECT batch_id, 'stream', 'bench', 0, 0, count(*), 0, NULL, NULL, 0 FROM message WHERE batch_id >= ${firstBatch} GROUP BY batch_id ORDER BY batch_id`,
    );
  });
}
