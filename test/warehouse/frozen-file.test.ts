import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { createFrozenReads } from '../../src/warehouse/frozen-file.ts';
import { atEnd, shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { settle } from '../support/test-clock.ts';

const database = shared(async () => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  atEnd(() => instance.closeSync());
  return instance;
});

/** The reads of a file with ten bytes, beside a database. */
async function setUp() {
  const path = join(tempDir(), 'file');
  writeFileSync(path, '0123456789');
  const handle = await open(path);
  onTestFinished(() => handle.close());
  let alone = 0;
  const frozen = createFrozenReads({
    connect: () => database().connect(),
    file: () => handle,
    walLimit: '64MiB',
    async alone(work) {
      alone++;
      return work().finally(() => alone--);
    },
  });
  const walLimit = async () => {
    const connection = await database().connect();
    const rows = await connection.runAndReadAll("SELECT current_setting('wal_autocheckpoint')");
    connection.closeSync();
    return rows.getRows()[0]![0];
  };
  return { frozen, walLimit, isAlone: () => alone > 0 };
}

test('during a read no checkpoint is made, and after it, even if it failed, they are made again', async () => {
  const { frozen, walLimit, isAlone } = await setUp();
  const usual = '64.0 MiB';
  // The first read sets the usual limit when it ends.
  await frozen.read(async () => undefined);
  await frozen.read(async () => {
    expect(await walLimit()).not.toBe(usual);
    // Transactions write during the read.
    expect(isAlone()).toBe(false);
  });
  expect(await walLimit()).toBe(usual);
  await expect(frozen.read(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await walLimit()).toBe(usual);
});

test('a read gets exactly its bytes, and a file that is shorter is an error that can pass', async () => {
  const { frozen } = await setUp();
  await frozen.read(async (file) => {
    expect(file.bytes).toBe(10);
    const target = Buffer.alloc(4);
    await file.read(target, 6);
    expect(target.toString()).toBe('6789');
    await expect(file.read(target, 7)).rejects.toMatchObject({
      code: 'SnapshotInterrupted',
      retryable: true,
    });
  });
});

test('work between two reads runs alone, and not during a read', async () => {
  const { frozen, isAlone } = await setUp();
  const events: string[] = [];
  const reading = frozen.read(async () => {
    await Promise.resolve();
    events.push('read');
  });
  await frozen.between(async () => {
    events.push(`between, alone: ${isAlone()}`);
  });
  await reading;
  expect(events).toEqual(['read', 'between, alone: true']);
});

test('a stop ends the running read with its reason, waits for its end, and refuses later ones', async () => {
  const { frozen } = await setUp();
  const reason = new Error('closed');
  const begun = Promise.withResolvers<void>();
  let hasEnded = false;
  const reading = frozen.read(async (file) => {
    const isStopped = new Promise((resolve) => file.signal.addEventListener('abort', resolve));
    begun.resolve();
    await isStopped;
    await settle();
    hasEnded = true;
    await file.read(Buffer.alloc(1), 0);
  });
  const refused = expect(reading).rejects.toBe(reason);
  await begun.promise;
  await frozen.stop(reason);
  expect(hasEnded).toBe(true);
  await refused;
  await expect(frozen.read(async () => undefined)).rejects.toBe(reason);
  await expect(frozen.between(async () => undefined)).rejects.toBe(reason);
});
