import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Decoder } from 'cbor-x';
import type { Ask } from '../src/client/position.ts';
import type { RawAnswer } from '../src/client/rest-source.ts';
import { configSchema } from '../src/config/config.ts';
import { createMessageDecoder } from '../src/decode/message-decoder.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemClock } from '../src/lib/time.ts';
import { assignmentOf } from '../src/pipeline/assignment.ts';
import type { LandReply } from '../src/pipeline/live-reader.ts';
import { createPipeline, type Pipeline } from '../src/pipeline/pipeline.ts';
import type { Checkpoint } from '../src/warehouse/checkpoint.ts';
import { createCommitter } from '../src/warehouse/committer.ts';
import { createChunkFiller } from '../src/warehouse/fill-chunks.ts';
import { planLanding } from '../src/warehouse/plan-landing.ts';
import { openShard, type Shard } from '../src/warehouse/shard.ts';
import type { Ratio } from './decode.ts';
import { median } from './statistics.ts';
import { type StampableBody, stampBody, telemetryBodies } from './telemetry-bodies.ts';

const MESSAGES = 10_000;
const BODIES = 12;
const ROUNDS = 12;
const BATCHES_A_ROUND = 25;
/** The number of answers that one run of the stage `poll` has in transfer. */
const IN_FLIGHT = 4;
const WORKGROUP = 'bench';

/**
 * Decodes and lands batches of 10,000 messages of ten numeric fields in the pipeline's thread. It begins with
 * answers as they come from the wire, and ends when they are durable. For comparison, cbor-x alone decodes
 * the same bytes to objects on one thread. A bare append of ready chunks with its COMMIT shows which part is
 * that of DuckDB. The three take turns, so that a busy machine slows all of them. Prints where the time goes,
 * and how free the main thread stays meanwhile.
 */
export async function benchLand(print: (line: string) => void): Promise<Ratio[]> {
  const bodies = telemetryBodies(BODIES, MESSAGES);
  for (const [stage, ms] of Object.entries(await measureStages(bodies))) {
    print(`${stage.padEnd(44)} ${ms.toFixed(1).padStart(6)} ms for ${MESSAGES} messages`);
  }
  const { decodeMs, appendMs, landMs, ratios, delayMs } = await measureLanding(bodies);
  print(`${'cbor-x alone, mean'.padEnd(44)} ${decodeMs.toFixed(1).padStart(6)} ms`);
  print(`${'bare append and COMMIT, mean'.padEnd(44)} ${appendMs.toFixed(1).padStart(6)} ms`);
  print(
    `${`decoded and landed, mean of ${ROUNDS * BATCHES_A_ROUND}`.padEnd(44)} ${landMs.toFixed(1).padStart(6)} ms`,
  );
  const landing: Ratio = {
    name: 'decoding and landing, of the speed of cbor-x alone',
    ratio: median(ratios),
    ratioMin: 0.6,
  };
  const free: Ratio = {
    name: 'main thread free: 10 ms, times its delay (p99) while landing',
    ratio: 10 / delayMs,
    ratioMin: 1,
  };
  for (const { name, ratio, ratioMin } of [landing, free])
    print(`${name}: ${ratio.toFixed(2)} (at least ${ratioMin})`);
  print(
    `  of all ${ROUNDS} rounds, checkpoints included: ${(decodeMs / landMs).toFixed(2)}; delay p99 ${delayMs.toFixed(1)} ms`,
  );
  print(`  a bare append and COMMIT, of the speed of cbor-x alone: ${(decodeMs / appendMs).toFixed(2)}`);
  return [landing, free];
}

async function measureLanding(bodies: StampableBody[]) {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const bare = await openBareAppend(bodies, join(folder, 'bare.duckdb'));
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  const config = configSchema.parse({ workgroups: [{ id: WORKGROUP }] });
  const reference = new Decoder({ useRecords: false, mapsAsObjects: true });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  try {
    await pipeline.open(assignmentOf({ ...config, dataDir: folder }, config.workgroups[0]!));
    const feed = createFeed(pipeline, bodies);
    for (const { body } of bodies) reference.decode(body);
    await feed(BATCHES_A_ROUND);
    await bare.append(BATCHES_A_ROUND);
    const decodes: number[] = [];
    const appends: number[] = [];
    const lands: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      appends.push(await meanOf(BATCHES_A_ROUND, () => bare.append(BATCHES_A_ROUND)));
      decodes.push(
        await meanOf(BATCHES_A_ROUND, () => {
          for (let index = 0; index < BATCHES_A_ROUND; index++)
            reference.decode(bodies[index % BODIES]!.body);
        }),
      );
      delay.enable();
      lands.push(await meanOf(BATCHES_A_ROUND, () => feed(BATCHES_A_ROUND)));
      delay.disable();
    }
    return {
      decodeMs: mean(decodes),
      appendMs: mean(appends),
      landMs: mean(lands),
      ratios: lands.map((ms, round) => decodes[round]! / ms),
      delayMs: delay.percentile(99) / 1e6,
    };
  } finally {
    await bare.close();
    await pipeline.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Appends chunks that are filled before, two batches in each transaction, as landing does. It decodes
 * nothing, and writes no ledger and no checkpoint.
 */
async function openBareAppend(
  bodies: readonly StampableBody[],
  path: string,
): Promise<{ append(batches: number): Promise<void>; close(): Promise<void> }> {
  const shard = await openBenchShard(path);
  const connection = await shard.connect();
  const appender = await connection.createAppender('message');
  const decoder = createMessageDecoder(shard.names);
  const filler = createChunkFiller();
  const filled = bodies.map(({ body }) => {
    const decoded = decoder.decode(body);
    if (decoded.kind === 'error') throw new Error(decoded.message);
    return filler.fill(decoded.columns, 0, decoded.columns.count, 1);
  });
  return {
    async append(batches) {
      for (let index = 0; index < batches; index++) {
        if (index % 2 === 0) await connection.run('BEGIN');
        for (const chunk of filled[index % filled.length]!) appender.appendDataChunk(chunk);
        appender.flushSync();
        if (index % 2 === 1 || index === batches - 1) await connection.run('COMMIT');
      }
    },
    async close() {
      appender.closeSync();
      connection.closeSync();
      await shard.close();
    },
  };
}

function openBenchShard(path: string): Promise<Shard> {
  return openShard({
    path,
    workgroupId: WORKGROUP,
    memoryMegabytes: 1_024,
    threads: 2,
    clock: systemClock,
    logger: silentLogger,
  });
}

/** Hands several answers to the pipeline at a time, as the stage `poll` does. */
function createFeed(pipeline: Pipeline, bodies: StampableBody[]): (batches: number) => Promise<void> {
  let number = 0;
  let ask: Ask = { kind: 'oldest' };
  return async (batches) => {
    const inFlight: Array<Promise<LandReply>> = [];
    const settleOne = async () => {
      const reply = await inFlight.shift()!;
      if (reply.kind !== 'delivered' || reply.messages !== MESSAGES)
        throw new Error(`a batch was ${reply.kind}`);
    };
    for (let index = 0; index < batches; index++) {
      if (inFlight.length === IN_FLIGHT) await settleOne();
      const body = bodies[number % BODIES]!;
      const { nextOffset } = stampBody(body, number++);
      const answer = answerOf(body.body);
      inFlight.push(pipeline.run(WORKGROUP, 'land', { ask, answer }, [answer.bytes.buffer]));
      ask = { kind: 'offset', offset: nextOffset };
    }
    while (inFlight.length > 0) await settleOne();
  };
}

function answerOf(body: Uint8Array): RawAnswer {
  return {
    status: 200,
    contentType: 'application/cbor',
    contentEncoding: '',
    bytes: body.slice() as Uint8Array<ArrayBuffer>,
    nextOffset: undefined,
    upToDate: undefined,
    retryAfterMs: undefined,
    lagMessages: undefined,
    durationMs: 0,
  };
}

/**
 * The median time of each step if the steps do not overlap: on one thread, with one batch in each
 * transaction.
 */
async function measureStages(bodies: StampableBody[]): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const shard = await openBenchShard(join(folder, 'bench.duckdb'));
  const committer = await createCommitter(await shard.connect(), {
    workgroupId: WORKGROUP,
    epoch: shard.epoch,
  });
  const decoder = createMessageDecoder(shard.names);
  const filler = createChunkFiller();
  const times: Record<string, number[]> = {};
  let before: Checkpoint | undefined;
  for (let number = 0; number < 80; number++) {
    const body = bodies[number % BODIES]!;
    const { fromOffset, nextOffset } = stampBody(body, number);
    let lastMs = performance.now();
    const took = (stage: string) => {
      const nowMs = performance.now();
      times[stage] ??= [];
      if (number >= 20) times[stage].push(nowMs - lastMs);
      lastMs = nowMs;
    };
    const decoded = decoder.decode(body.body);
    took('decode (walker)');
    if (decoded.kind === 'error') throw new Error(decoded.message);
    const input = {
      origin: 'stream',
      columns: decoded.columns,
      fromOffset: before && fromOffset,
      nextOffset,
      logEpoch: 'bench',
    };
    const planned = planLanding(before, { ...input, fromOffset: before?.nextOffset }, number + 1, 0);
    if (planned.kind !== 'write' || !planned.write.content) throw new Error(planned.result.kind);
    const { write } = planned;
    const { columns, start, end } = planned.write.content;
    const chunks = filler.fill(columns, start, end, number + 1);
    took('plan and copy into chunks');
    const prepared = { ...write, origin: 'stream', batchId: number + 1, chunks, rejected: [] };
    await committer.commit([prepared], shard.names.takeNew(), 0, () => {
      filler.release(chunks);
      took('transaction up to COMMIT (flush, ledger, checks)');
    });
    took('COMMIT (in the background)');
    before = write.after;
  }
  committer.close();
  await shard.close();
  rmSync(folder, { recursive: true, force: true });
  return Object.fromEntries(Object.entries(times).map(([stage, each]) => [stage, median(each)]));
}

async function meanOf(count: number, run: () => void | Promise<void>): Promise<number> {
  const startMs = performance.now();
  await run();
  return (performance.now() - startMs) / count;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
