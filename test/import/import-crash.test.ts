// @module-tag slow
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, fileOf, importInto, messagesIn } from './import-fixture.ts';

const ROWS = 60_000;
const KILLS = rounds(2, 8);

test(`killed ${KILLS} times at any point, a file lands once and as a whole`, async () => {
  const startMs = Date.UTC(2024, 0, 1);
  const lines = Array.from(
    { length: ROWS },
    (_, row) => `${new Date(startMs + row * 1_000).toISOString()},${row}`,
  );
  const file = fileOf('log.csv', `time,total\n${lines.join('\n')}\n`);
  const path = join(tempDir(), 'acme.duckdb');
  const reached: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const child = fork(join(import.meta.dirname, 'import-child.ts'), [path, file], {
      stdio: 'inherit',
      execArgv: [],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    let rows = 0;
    child.on('message', (landed: number) => {
      rows = landed;
      // Each kill comes after more rows than the one before, at a random moment of a batch, of its commit
      // or of the next batch.
      if (landed > (kill * ROWS) / (KILLS + 2))
        void sleep(Math.random() * 15).then(() => child.kill('SIGKILL'));
    });
    await exited;
    reached.push(rows);
    const shard = await openTestShard({ path });
    expect(await messagesIn(shard)).toEqual([]);
    await shard.close();
  }
  expect(Math.max(...reached)).toBeGreaterThan(ROWS / 4);

  const shard = await openTestShard({ path });
  const stored = Number((await rowsOf(shard, 'SELECT count(*) AS n FROM message'))[0]!.n);
  expect(stored).toBeGreaterThan(0);
  const outcome = await importInto(
    shard,
    file,
    { time: { column: 'time' }, device: { id: DEVICE }, fields: { total: 'total' } },
    { batchRows: 2_048 },
  );
  expect(outcome).toMatchObject({ kind: 'landed', resumed: true, counts: { rowsLanded: ROWS } });
  const [held] = await rowsOf(
    shard,
    `SELECT count(*)::INTEGER AS n, count(DISTINCT numbers[1])::INTEGER AS distinct_n, sum(numbers[1]) AS sum,
       count(*) FILTER (event_time_ms = ${startMs} + numbers[1] * 1000)::INTEGER AS matching
     FROM message JOIN batch USING (batch_id)`,
  );
  expect(held).toEqual({ n: ROWS, distinct_n: ROWS, sum: (ROWS * (ROWS - 1)) / 2, matching: ROWS });
});
