import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { isFull, isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { startLanding } from './children.ts';
import { withExtraMigrations } from './extra-migrations.ts';
import { expectExactlyOnce } from './landed.ts';
import { openTestShard } from './warehouse-fixture.ts';

const lastLanded = (events: Array<{ kind: string; nextOffset?: number }>) =>
  Math.max(0, ...events.filter(({ kind }) => kind === 'landed').map(({ nextOffset }) => nextOffset!));

const KILLS = isFull ? rounds(6, 14) : 3;

test('after kills at any moment, every acknowledged batch is stored once, and none in part', async () => {
  const path = join(tempDir(), 'acme.duckdb');
  let before = 0;
  for (let kills = 0; kills < KILLS; kills++) {
    const child = startLanding([path]);
    // Sometimes while it opens the file, mostly while it lands.
    if (kills > 1) await child.said(({ kind }) => kind === 'landed');
    await sleep(Math.random() * (kills > 1 ? 120 : 500));
    await child.kill();
    const shard = await openTestShard({ path });
    const next = await expectExactlyOnce(shard);
    expect(next).toBeGreaterThanOrEqual(Math.max(before, lastLanded(child.events)));
    before = next;
    await shard.close();
  }
  expect(before).toBeGreaterThan(0);
});

test.runIf(isSoak)(
  'a schema change, then landing, then a kill: the write-ahead log can be read, by old and new releases',
  async () => {
    const path = join(tempDir(), 'acme.duckdb');
    for (const extra of [0, 1, 2, 2]) {
      const child = startLanding([path, 256, extra]);
      await child.said(({ nextOffset }) => (nextOffset ?? 0) > lastLanded(child.events.slice(0, 1)));
      await child.kill();
      expect(existsSync(`${path}.wal`) && statSync(`${path}.wal`).size).toBeGreaterThan(0);
    }
    const shard = await openTestShard({ path, migrations: withExtraMigrations(2) });
    expect(await expectExactlyOnce(shard)).toBeGreaterThan(0);
    await shard.close();
    await expect(openTestShard({ path })).rejects.toMatchObject({ code: 'WarehouseTooNew' });
  },
);
