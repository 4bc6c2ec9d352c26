/**
 * A process for crash tests. It appends to a log until it is killed, several appends at a time, and prints
 * each acknowledged append as `firstOffset lastOffset`.
 */
import { writeSync } from 'node:fs';
import { silentLogger } from '../../../src/lib/logger.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { telemetryBatch } from '../../support/messages.ts';

const [path, appendsMax] = process.argv.slice(2);
const log = openLmdbLog({
  path: path!,
  clock: { now: Date.now },
  retentionMs: 3_600_000,
  cacheBytesMax: 1e6,
  logger: silentLogger,
});
const WRITERS = 4;
let left = Number(appendsMax ?? Number.POSITIVE_INFINITY);

async function appendForever(writer: number): Promise<void> {
  for (let round = 0; left-- > 0; round++) {
    const batch = telemetryBatch(1 + ((round * 37 + writer) % 200), { device: writer, first: round * 1_000 });
    try {
      const { firstOffset, lastOffset } = await log.append(batch);
      writeSync(1, `${firstOffset} ${lastOffset}\n`);
    } catch (error) {
      writeSync(1, `failed ${(error as { code?: string }).code}\n`);
    }
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => appendForever(writer)));
const { next } = await log.bounds();
writeSync(1, `next ${next}\n`);
await log.close();
