// Lands batches and takes snapshots without end, and prints each snapshot that is complete, for a test that
// kills it. Arguments: the warehouse, the folder of the store.
import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { type SnapshotRef, takeSnapshot } from '../../src/snapshot/take-snapshot.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { batchOf } from '../warehouse/batches.ts';

const [path = '', folder = ''] = process.argv.slice(2);
const shard = await openShard({
  path,
  workgroupId: 'acme',
  memoryMegabytes: 256,
  threads: 1,
  clock: systemClock,
  logger: silentLogger,
});
const store = createFolderStore(folder);
let previous: SnapshotRef | undefined;
for (let next = Number((await shard.checkpoint('stream'))?.nextOffset ?? 0); ; next += 2_000) {
  await shard.land(batchOf(next, 2_000));
  const key = `snapshots/000000000000-${randomBytes(8).toString('hex')}.pack`;
  const stagingDir = join(folder, 'staging');
  previous = await takeSnapshot(shard, { store, key, previous, stagingDir, logger: silentLogger });
  writeSync(1, `${JSON.stringify({ ...previous, nextOffset: next + 2_000 })}\n`);
}
