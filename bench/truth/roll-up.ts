import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkgroupConfig } from '../../src/config/config.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, type LocalDate, type UtcMs } from '../../src/lib/time.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import { openShard, type Shard } from '../../src/warehouse/shard.ts';
import { messagesToColumns } from '../../test/support/messages-to-columns.ts';
import type { Reading, Recording } from './recording.ts';

/** The result of the roll-up for a day. */
export interface Answer {
  energyWh: number;
  method: string;
  flags: string[];
}

export interface RollUpOptions {
  /**
   * True: rolls up after each day, with the clock of that day, like a service. False: rolls up once, after
   * all readings.
   */
  byDay: boolean;
}

const MEMORY_MEGABYTES = 1_024;
const CLOSE_AFTER_MS = 2 * DAY_MS;

/**
 * Rolls recordings of one group up in one warehouse, and removes it.
 * @returns the days of each recording, in their order
 */
export async function rollUpTogether(
  recordings: readonly Recording[],
  { byDay }: RollUpOptions,
): Promise<Array<Map<LocalDate, Answer>>> {
  const folder = await mkdtemp(join(tmpdir(), 'wattline-truth-'));
  const messages = messagesOf(recordings);
  let nowMs: UtcMs = messages[0]!.store_time;
  const clock = { now: () => nowMs };
  const shard = await openShard({
    path: join(folder, 'truth.duckdb'),
    workgroupId: 'truth',
    memoryMegabytes: MEMORY_MEGABYTES,
    threads: 2,
    clock,
    logger: silentLogger,
  });
  try {
    const workgroup = workgroupOf(recordings);
    const endMs = messages.at(-1)!.store_time + 10 * DAY_MS;
    const parts = byDay ? partsByDay(messages) : [messages];
    for (const [index, part] of parts.entries()) {
      await land(shard, part);
      nowMs = index === parts.length - 1 ? endMs : part.at(-1)!.store_time;
      await rollUpAll(shard, workgroup, clock);
    }
    const answers = await readAnswers(shard);
    return recordings.map(({ device }) => answers.get(device) ?? new Map());
  } finally {
    await shard.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The only place that calls the roll-up. */
async function rollUpAll(shard: Shard, workgroup: WorkgroupConfig, clock: { now(): UtcMs }): Promise<void> {
  for (let more = true; more; )
    ({ more } = await rollUp(shard, {
      workgroup,
      clock,
      closeAfterMs: CLOSE_AFTER_MS,
      logger: silentLogger,
    }));
}

function workgroupOf(recordings: readonly Recording[]): WorkgroupConfig {
  return workgroupSchema.parse({
    id: 'truth',
    timezone: recordings[0]!.plan.place.timezone,
    energyStreams: recordings.flatMap(({ streams }) => streams),
  });
}

type Message = ReturnType<typeof messageOf>;

/** The readings of all recordings in the order of their arrival, with offsets in this order. */
function messagesOf(recordings: readonly Recording[]): Message[] {
  const messages = recordings.flatMap((recording) =>
    recording.readings.map((reading) => messageOf(recording, reading)),
  );
  messages.sort((one, other) => one.store_time - other.store_time);
  for (const [index, message] of messages.entries()) message.offset = BigInt(index);
  return messages;
}

function messageOf({ table, device }: Recording, { stampMs, arrivesMs, data }: Reading) {
  return {
    offset: 0n,
    table,
    kind: 'telemetry',
    device,
    source: null,
    event_time: stampMs,
    store_time: arrivesMs,
    data,
  };
}

function partsByDay(messages: readonly Message[]): Message[][] {
  const startMs = messages[0]!.store_time;
  return [...Map.groupBy(messages, ({ store_time }) => Math.floor((store_time - startMs) / DAY_MS)).values()];
}

const MESSAGES_PER_BATCH = 20_000;

async function land(shard: Shard, messages: readonly Message[]): Promise<void> {
  for (let from = 0; from < messages.length; from += MESSAGES_PER_BATCH) {
    const batch = messages.slice(from, from + MESSAGES_PER_BATCH);
    const outcome = await shard.land({
      origin: 'stream',
      columns: messagesToColumns(batch, shard.names),
      fromOffset: batch[0]!.offset,
      nextOffset: batch.at(-1)!.offset + 1n,
      logEpoch: 'truth',
    });
    if (outcome.kind !== 'landed' || outcome.messages !== batch.length)
      throw new Error(`${batch.length} messages were sent, but landing says ${outcome.kind}`);
  }
}

async function readAnswers(shard: Shard): Promise<Map<string, Map<LocalDate, Answer>>> {
  const rows = await shard.read(async (connection) => {
    const reader = await connection.runAndReadAll(
      `SELECT device::VARCHAR AS device, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, method,
         (SELECT coalesce(string_agg(flag, ',' ORDER BY bit), '') FROM quality_flag WHERE d.flags & bit > 0) AS flags
       FROM daily_energy d ORDER BY device, day`,
    );
    return reader.getRowObjects() as Array<
      Record<'device' | 'day' | 'method' | 'flags', string> & { energy_wh: number }
    >;
  });
  const byDevice = Map.groupBy(rows, ({ device }) => device);
  return new Map(
    [...byDevice].map(([device, days]) => [
      device,
      new Map(
        days.map(({ day, energy_wh, method, flags }) => [
          day,
          { energyWh: energy_wh, method, flags: flags.split(',').filter(Boolean) },
        ]),
      ),
    ]),
  );
}
