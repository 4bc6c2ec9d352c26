// Lands batches without end, several under way at a time, and says of each when it is durable: for tests that
// kill it, or take its disk away. Arguments: path, memory in MiB, extra migrations, messages a batch at most,
// batches after a failure (without this number it continues until it is killed), transactions after which it
// opens the file again.
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { batchOf, columnsOf } from './batches.ts';
import { withExtraMigrations } from './extra-migrations.ts';

const [
  path = '',
  memory = '256',
  extra = '0',
  messagesMax = '2000',
  batchesAfter = '1',
  renewAfter = 'Infinity',
] = process.argv.slice(2);
const IN_FLIGHT = 3;

const shard = await openShard({
  path,
  workgroupId: 'acme',
  memoryMegabytes: Number(memory),
  threads: 2,
  renewAfterTransactions: Number(renewAfter),
  migrations: withExtraMigrations(Number(extra)),
  clock: systemClock,
  logger: silentLogger,
});
const field = shard.names.idOf(`field_${process.pid}`);
say({ kind: 'opened', epoch: String(shard.epoch) });

let hasFailed = false;
let landedAfter = 0;
let next = 0;
for (;;) {
  next = Number((await shard.checkpoint('stream').catch(() => undefined))?.nextOffset ?? next);
  const renewing = shard.renewIfDue();
  const results = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, landNext));
  await renewing;
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) {
    const { code, retryable } = failed.reason as { code: string; retryable: boolean };
    say({ kind: 'failed', code, retryable });
    hasFailed = true;
    await sleep(50);
  }
  if (landedAfter >= Number(batchesAfter)) break;
}
await shard.close();
say({ kind: 'closed' });

async function landNext(): Promise<void> {
  const result = await shard.land(() => {
    const first = next;
    const count = 1 + Math.floor(Math.random() * Number(messagesMax));
    next += count;
    const messages = Array.from({ length: count }, (_, index) => ({
      offset: BigInt(first + index),
      fields: [
        [field, first + index],
        [field, Math.random()],
      ] as const,
    }));
    return batchOf(first, count, { columns: columnsOf(messages) });
  });
  if (result.kind !== 'landed') return;
  if (hasFailed) landedAfter++;
  say({ kind: 'landed', nextOffset: Number(result.nextOffset) });
}

function say(event: Record<string, unknown>): void {
  writeSync(1, `${JSON.stringify(event)}\n`);
}
