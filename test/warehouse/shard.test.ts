import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import { systemClock } from '../../src/lib/time.ts';
import { loadMigrations } from '../../src/warehouse/load-sql.ts';
import { readShard } from '../../src/warehouse/read-shard.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { batchOf, NOW_MS } from './batches.ts';
import { landedOffsets, openTestShard, rowsOf } from './warehouse-fixture.ts';

const newPath = () => join(tempDir(), 'acme.duckdb');

describe('ownership', () => {
  test('each opening is a new epoch', async () => {
    const first = await openTestShard();
    expect(first.epoch).toBe(1n);
    await first.close();
    const second = await openTestShard({ path: first.path });
    expect(second.epoch).toBe(2n);
  });

  test('the epoch of a lease is taken, and an older one is refused', { tags: ['slow'] }, async () => {
    const path = newPath();
    const first = await openTestShard({ path, epoch: 40n });
    expect(first.epoch).toBe(40n);
    await first.close();
    await expect(openTestShard({ path, epoch: 40n })).rejects.toThrow(StaleOwnerError);
    await expect(openTestShard({ path, epoch: 39n })).rejects.toThrow(StaleOwnerError);
    expect((await openTestShard({ path, epoch: 41n })).epoch).toBe(41n);
  });

  test('a file of another workgroup is refused, with both names', async () => {
    const shard = await openTestShard();
    await shard.close();
    await expect(openTestShard({ path: shard.path, workgroupId: 'globex' })).rejects.toMatchObject({
      code: 'WrongWorkgroup',
      retryable: false,
      message: expect.stringMatching(/holds workgroup acme, not globex/),
    });
  });

  test('two workgroups in one process keep to their own files', async () => {
    const acme = await openTestShard();
    const globex = await openTestShard({ workgroupId: 'globex' });
    await Promise.all([acme.land(batchOf(0, 10)), globex.land(batchOf(0, 30)), acme.land(batchOf(10, 10))]);
    expect(await landedOffsets(acme)).toHaveLength(20);
    expect(await landedOffsets(globex)).toHaveLength(30);
  });
});

describe('a file is open once', () => {
  test('not twice in one process, and the first opening is not harmed by the attempt', {
    tags: ['slow'],
  }, async () => {
    const shard = await openTestShard();
    await expect(openTestShard({ path: shard.path })).rejects.toMatchObject({
      code: 'WarehouseLocked',
      retryable: true,
      message: expect.stringContaining(`already open in this process (${process.pid})`),
    });
    await expect(openTestShard({ path: `${shard.path}/../acme.duckdb` })).rejects.toMatchObject({
      code: 'WarehouseLocked',
    });
    expect(await openElsewhere(shard.path)).toMatchObject({ code: 'WarehouseLocked' });
    expect(await shard.land(batchOf(0, 5))).toMatchObject({ kind: 'landed' });
  });

  test('but the opening waits for somebody who only reads the file', { tags: ['slow'] }, async () => {
    const { path, close } = await openTestShard();
    await close();
    const reading = Promise.withResolvers<void>();
    const { promise: isRead, resolve: endReading } = Promise.withResolvers<void>();
    const options = { path, workgroupId: 'acme', memoryMegabytes: 256, threads: 1, clock: systemClock };
    const reader = readShard(options, () => {
      reading.resolve();
      return isRead;
    });
    await reading.promise;
    const opening = openTestShard({ path, lockWaitMs: 60_000 });
    await expect(openTestShard({ path })).rejects.toMatchObject({ code: 'WarehouseLocked' });
    endReading();
    await reader;
    expect((await opening).epoch).toBe(2n);
  });

  test('not in another thread of the process', { tags: ['slow'] }, async () => {
    const shard = await openTestShard();
    const worker = new Worker(new URL('./open-child.ts', import.meta.url), { workerData: shard.path });
    const [answer] = await once(worker, 'message');
    expect(answer).toMatchObject({
      code: 'WarehouseLocked',
      message: expect.stringContaining('this process'),
    });
    await worker.terminate();
  });

  test('not in another process, and the error names the process that has it open', {
    tags: ['slow'],
  }, async () => {
    const shard = await openTestShard();
    expect(await openElsewhere(shard.path)).toMatchObject({
      name: 'TransientError',
      code: 'WarehouseLocked',
      message: expect.stringContaining(`held by process ${process.pid} (`),
      details: { holderPid: process.pid },
    });
    await shard.close();
    expect(await openElsewhere(shard.path)).toBe('opened');
  });
});

describe('a file that is not a warehouse of Wattline is refused with advice', () => {
  test('a text file', async () => {
    const path = newPath();
    writeFileSync(path, 'device,energy\n'.repeat(2_000));
    await expect(openTestShard({ path })).rejects.toMatchObject({
      code: 'NotAWarehouse',
      retryable: false,
      message: expect.stringContaining('is not a DuckDB file'),
    });
    expect(readFileSync(path, 'utf8')).toContain('device,energy');
  });

  test('a file that is damaged', async () => {
    const shard = await openTestShard();
    await shard.close();
    const bytes = readFileSync(shard.path);
    bytes.fill(0x5a, 12_288);
    writeFileSync(shard.path, bytes);
    await expect(openTestShard({ path: shard.path })).rejects.toMatchObject({
      code: 'WarehouseCorrupt',
      retryable: false,
    });
  });

  test('a file that was cut short', async () => {
    const shard = await openTestShard();
    await shard.close();
    truncateSync(shard.path, 200_000);
    await expect(openTestShard({ path: shard.path })).rejects.toMatchObject({ retryable: false });
  });

  test('a DuckDB file with tables of something else', async () => {
    const path = newPath();
    const instance = await DuckDBInstance.create(path);
    const connection = await instance.connect();
    await connection.run('CREATE TABLE invoices (x INTEGER)');
    connection.closeSync();
    instance.closeSync();
    await expect(openTestShard({ path })).rejects.toMatchObject({ code: 'NotAWarehouse' });
  });

  test('a file of a newer Wattline, and it can still be opened by that one', { tags: ['slow'] }, async () => {
    const path = newPath();
    await (await openTestShard({ path })).close();
    await expect(openTestShard({ path, migrations: loadMigrations().slice(0, 1) })).rejects.toMatchObject({
      code: 'WarehouseTooNew',
      retryable: false,
      message: expect.stringContaining('upgrade Wattline'),
    });
    await expect(openTestShard({ path })).resolves.toBeDefined();
  });

  test('a folder', async () => {
    const path = newPath();
    mkdirSync(path);
    await expect(openTestShard({ path })).rejects.toThrow(path);
  });
});

describe('an empty file that a crash left behind', () => {
  test('is made anew, once it is old enough not to be in the making elsewhere', async () => {
    const path = newPath();
    writeFileSync(path, '');
    utimesSync(path, NOW_MS / 1000 - 3, NOW_MS / 1000 - 3);
    await expect(openTestShard({ path })).rejects.toMatchObject({ code: 'NotAWarehouse' });
    utimesSync(path, NOW_MS / 1000 - 60, NOW_MS / 1000 - 60);
    await expect(openTestShard({ path })).resolves.toBeDefined();
  });

  test('but a short file of something else is left alone', async () => {
    const path = newPath();
    writeFileSync(path, 'my notes');
    utimesSync(path, NOW_MS / 1000 - 60, NOW_MS / 1000 - 60);
    await expect(openTestShard({ path })).rejects.toMatchObject({ code: 'NotAWarehouse' });
    expect(readFileSync(path, 'utf8')).toBe('my notes');
  });
});

describe('transactions', () => {
  test('commit when they return, and roll back when they throw', async () => {
    const shard = await openTestShard();
    const insert = (stage: string) =>
      shard.transaction(async (connection) => {
        await connection.run(`INSERT INTO progress VALUES ('${stage}', 1, 0)`);
        if (stage === 'bad') throw new RangeError('a bug of the caller');
        return stage;
      });
    expect(await insert('rollup')).toBe('rollup');
    await expect(insert('bad')).rejects.toThrow(RangeError);
    expect(await rowsOf(shard, 'SELECT stage FROM progress')).toEqual([{ stage: 'rollup' }]);
  });

  test('run beside landing, each on a separate connection', async () => {
    const shard = await openTestShard();
    const writing = Array.from({ length: 10 }, (_, index) =>
      shard.transaction((c) => c.run(`INSERT INTO progress VALUES ('${index}', ${index}, 0)`)),
    );
    const landing = Array.from({ length: 10 }, (_, index) => shard.land(batchOf(index * 10, 10)));
    await Promise.all([...writing, ...landing]);
    expect(await landedOffsets(shard)).toHaveLength(100);
    expect(await rowsOf(shard, 'SELECT stage FROM progress')).toHaveLength(10);
  });
});

describe('statements', () => {
  const outside = join(import.meta.dirname, 'support.ts');

  test('reach the folders that were named and nothing else of the disk', async () => {
    const lake = tempDir();
    const shard = await openTestShard({ folders: [lake] });
    await shard.land(batchOf(0, 10));
    await rowsOf(shard, `COPY message TO '${lake}/m.parquet'`);
    expect(await rowsOf(shard, `SELECT count(*) AS n FROM '${lake}/m.parquet'`)).toEqual([{ n: 10n }]);
    await expect(rowsOf(shard, `SELECT * FROM read_text('${outside}')`)).rejects.toThrow(/Permission/);
    await expect(rowsOf(shard, `COPY message TO '${lake}-other.parquet'`)).rejects.toThrow(/Permission/);
    await expect(rowsOf(shard, `COPY message TO '${lake}/../x.parquet'`)).rejects.toThrow(/Permission/);
    await expect(rowsOf(shard, 'SET enable_external_access = true')).rejects.toThrow(
      /Cannot enable external access/,
    );
  });

  test('load no extension, and use UTC on any machine', async () => {
    const shard = await openTestShard();
    await expect(rowsOf(shard, 'INSTALL httpfs; LOAD httpfs; SELECT 1')).rejects.toThrow(/Permission Error/);
    const [row] = await rowsOf(
      shard,
      `SELECT current_setting('TimeZone') AS zone, current_setting('autoload_known_extensions') AS autoload,
         current_setting('autoinstall_known_extensions') AS autoinstall`,
    );
    expect(row).toEqual({ zone: 'UTC', autoload: false, autoinstall: false });
  });
});

test.runIf(process.platform === 'linux')(
  'memory that DuckDB has freed goes back to the system',
  { tags: ['slow'] },
  async () => {
    const shard = await openTestShard();
    const beforeBytes = process.memoryUsage.rss();
    const connection = await shard.connect();
    await connection.run('CREATE TEMP TABLE large AS SELECT hash(range) AS value FROM range(8000000)');
    const takenBytes = process.memoryUsage.rss() - beforeBytes;
    await connection.run('DROP TABLE large');
    // Nobody uses the warehouse, so no later statement gives it back.
    await until(
      'most of the memory has gone back',
      () => process.memoryUsage.rss() < beforeBytes + takenBytes / 2,
    );
    connection.closeSync();
  },
);

test.runIf(isSoak)('spilled files of a killed process are deleted', async () => {
  const path = newPath();
  mkdirSync(`${path}.tmp`);
  writeFileSync(`${path}.tmp/duckdb_temp_storage_DEFAULT-0.tmp`, 'of a query that was killed');
  const shard = await openTestShard({ path, memoryMegabytes: 64 });
  expect(existsSync(`${path}.tmp`)).toBe(false);
  const sorted = `SELECT count(*) AS n FROM (
    SELECT row_number() OVER (ORDER BY hash(range)::VARCHAR) FROM range(2000000))`;
  expect(await rowsOf(shard, sorted)).toEqual([{ n: 2_000_000n }]);
});

test('the status has the counts of the warehouse', async () => {
  const shard = await openTestShard();
  shard.names.idOf('power_w');
  await shard.land(batchOf(0, 10));
  const times = { fromTimeMs: undefined, toTimeMs: undefined };
  await shard.land(batchOf(20, 0, { gap: { reason: 'expired', from: 10n, to: 20n, ...times } }));
  // Messages of an import are stored, and are no messages of the stream of the last hour.
  await shard.land({ ...batchOf(0, 3), origin: 'import:1' });
  const status = await shard.status();
  expect(status.lastHour).toEqual({ messages: 10, quarantined: 0 });
  expect(status).toMatchObject({
    workgroupId: 'acme',
    epoch: 1n,
    schema: loadMigrations().length,
    messages: 13,
    batches: 2,
    quarantined: 0,
    setAside: [],
    gaps: 1,
    names: 1,
    checkpoints: expect.arrayContaining([expect.objectContaining({ origin: 'stream', nextOffset: 20n })]),
  });
  expect(status.fileBytes).toBeGreaterThan(0);
  expect(status.walBytes).toBeGreaterThan(0);
});

describe('closing', () => {
  test('finishes pushed batches, empties the write-ahead log, and can be repeated', {
    tags: ['slow'],
  }, async () => {
    const shard = await openTestShard();
    const landing = Array.from({ length: 6 }, (_, index) => shard.land(batchOf(index * 10, 10)));
    await Promise.all([shard.close(), shard.close()]);
    await shard.close();
    for (const result of await Promise.all(landing)) expect(result.kind).toBe('landed');
    expect(existsSync(`${shard.path}.wal`) ? statSync(`${shard.path}.wal`).size : 0).toBe(0);
    expect(await landedOffsets(await openTestShard({ path: shard.path }))).toHaveLength(60);
  });

  test('waits for a transaction that is under way', async () => {
    const shard = await openTestShard();
    const running = shard.transaction(async (connection) => {
      await connection.run("INSERT INTO progress SELECT 'x', range, 0 FROM range(200000)");
      return 'done';
    });
    await shard.close();
    expect(await running).toBe('done');
    expect(
      await rowsOf(await openTestShard({ path: shard.path }), 'SELECT count(*) AS n FROM progress'),
    ).toEqual([{ n: 200_000n }]);
  });

  test('refuses new work while it waits for what is under way, and afterwards', async () => {
    const { land, connect, read, transaction, listBatches, readFrozen, close } = await openTestShard();
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
    const ended = [transaction(() => isHeld), close()];
    const refused = { code: 'WarehouseClosed', retryable: true };
    const refuses = async () => {
      for (const use of [() => land(batchOf(0, 1)), connect, read, transaction, listBatches, readFrozen])
        await expect(use(async () => 1)).rejects.toMatchObject(refused);
    };
    await refuses();
    release();
    await Promise.all(ended);
    await refuses();
  });
});

/** Tries to open a warehouse in a separate process. @returns `opened`, or what was thrown */
async function openElsewhere(path: string): Promise<unknown> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'open-child.ts'), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  await once(child, 'exit');
  return JSON.parse(line);
}

describe('threads', () => {
  const threadsOf = async (shard: Shard) =>
    Number((await rowsOf(shard, "SELECT current_setting('threads') AS threads"))[0]!.threads);

  test('much work has all of them until the last call has ended or failed, and other work has one', async () => {
    const shard = await openTestShard({ threads: 3 });
    expect(await threadsOf(shard)).toBe(1);
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
    const held = shard.withAllThreads(() => isHeld);
    expect(await shard.withAllThreads(() => threadsOf(shard))).toBe(3);
    await expect(shard.withAllThreads(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await threadsOf(shard)).toBe(3);
    release();
    await held;
    expect(await threadsOf(shard)).toBe(1);
  });

  test('calls that end and begin in the same moment leave the right number', async () => {
    const shard = await openTestShard({ threads: 2 });
    const found = await Promise.all(
      Array.from({ length: 4 }, () =>
        shard
          .withAllThreads(() => threadsOf(shard))
          .then((first) => shard.withAllThreads(async () => [first, await threadsOf(shard)])),
      ),
    );
    expect(found.flat()).toEqual(Array.from({ length: 8 }, () => 2));
    expect(await threadsOf(shard)).toBe(1);
  });
});
