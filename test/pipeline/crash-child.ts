// Lands 60,000 messages through a pipeline, makes its thread throw again and again, and prints the result.
import { join } from 'node:path';
import { BroadcastChannel } from 'node:worker_threads';
import { DuckDBInstance } from '@duckdb/node-api';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { answerOf, assignmentOf } from './answers.ts';

const dataDir = process.argv[2]!;
const BATCH = 3_000;
const END = 20 * BATCH;
const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
const channel = new BroadcastChannel('throw-in-thread');
let crashed = 0;
let round = 0;

for (let landed = 0; landed < END; round++) {
  try {
    await pipeline.open(assignmentOf(dataDir));
    landed = await landOn();
  } catch (error) {
    if (!(error instanceof TransientError)) throw error;
    crashed++;
  }
}
channel.close();
await pipeline.close();

const instance = await DuckDBInstance.create(join(dataDir, 'warehouse', 'acme.duckdb'));
const connection = await instance.connect();
const reader = await connection.runAndReadAll(
  'SELECT count(*)::INTEGER AS messages, count(DISTINCT stream_offset)::INTEGER AS different FROM message',
);
const [messages, distinct] = reader.getRows()[0] as [number, number];
process.stdout.write(JSON.stringify({ crashed, messages, distinct }));

/**
 * Continues from the checkpoint with several answers at once, and makes the thread throw meanwhile.
 * @returns where it has got to
 */
async function landOn(): Promise<number> {
  const { ask } = await pipeline.run('acme', 'position', undefined);
  const start = ask.kind === 'offset' ? Number(ask.offset) : 0;
  const end = Math.min(END, start + 6 * BATCH);
  const landing: Array<Promise<unknown>> = [];
  for (let first = start; first < end; first += BATCH) {
    const answer = answerOf(first, first + BATCH);
    const asked = first === 0 ? ask : ({ kind: 'offset', offset: BigInt(first) } as const);
    landing.push(pipeline.run('acme', 'land', { ask: asked, answer }, [answer.bytes.buffer]));
  }
  if (round < 5) channel.postMessage('now');
  const failed = (await Promise.allSettled(landing)).find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return end;
}
