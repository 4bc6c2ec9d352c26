// @module-tag slow
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import type { SnapshotRef } from '../../src/snapshot/take-snapshot.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { restored, snapshotOf } from './snapshot-fixture.ts';

test('a process that is killed while it packs leaves every complete snapshot, and a warehouse that opens', async () => {
  const folder = tempDir();
  const path = join(tempDir(), 'acme.duckdb');
  const store = createFolderStore(folder);
  for (let round = 0; round < rounds(2, 30); round++) {
    const said: Array<SnapshotRef & { nextOffset: number }> = [];
    const child = spawn(process.execPath, [join(import.meta.dirname, 'snapshot-child.ts'), path, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    createInterface({ input: child.stdout }).on('line', (line) => {
      said.push(JSON.parse(line));
      // In the middle of the next one.
      if (said.length === 3 + round) setTimeout(() => child.kill('SIGKILL'), Math.random() * 60);
    });
    await ended;
    for (const { nextOffset, ...snapshot } of [said.at(-1)!, said[0]!]) {
      const copy = await openTestShard({ path: await restored(store, snapshot) });
      expect((await copy.checkpoint('stream'))?.nextOffset).toBe(BigInt(nextOffset));
      await copy.close();
    }
    const shard = await openTestShard({ path });
    await restored(store, await snapshotOf(shard, store, said.at(-1)));
    await shard.close();
  }
});
