// @module-tag slow
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bundledStore } from '../../src/backup/bundled-store.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { compactLake } from '../../src/publish/compact-lake.ts';
import { INCOMPLETE_FILE, isLakeComplete, missingFiles } from '../../src/publish/is-lake-complete.ts';
import { fileKey, filePath, lakePaths } from '../../src/publish/lake-layout.ts';
import { openLake } from '../../src/publish/open-lake.ts';
import { publish } from '../../src/publish/publish.ts';
import { renewCurrent } from '../../src/publish/renew-current.ts';
import { startLakeFill } from '../../src/replica/start-lake-fill.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { landMessages, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { machine, stores, type Working, work } from './replica-fixture.ts';

const HOURS = 12;
const DAY = '2026-11-18';

/** A workgroup with a file of messages for each of some hours, taken over by another machine. */
async function takenOver(store: ObjectStore) {
  const first = await work(machine(), store);
  for (let hour = 0; hour < HOURS; hour++) {
    await landMessages(first.shard, { count: 3, storeTimeMs: TEST_START_MS + hour * 3_600_000 });
  }
  await storeDays(first.shard, [{ day: DAY, device: 1, energyWh: 1 }]);
  await publish(first.shard, { lakeDir: join(first.shard.path, '../../lake'), ...quiet });
  const generation = await first.snapshot();
  await first.owner.mirror(generation);
  const on = machine();
  const second = await work(on, store);
  const paths = lakePaths(on.lakeDir, WORKGROUP);
  const lake = { lakeDir: on.lakeDir, ...quiet };
  // New files are in bundles.
  const source = bundledStore(store, second.taken.claim);
  return {
    generation,
    second,
    source,
    paths,
    lake,
    headOf: async () => (await openLake(second.shard, lake)).head!,
  };
}

/** The hours of the messages are not over, so each hour has its own files. */
const quiet = { clock: createTestClock(TEST_START_MS), logger: silentLogger };

function fillOf(
  { paths, headOf }: Pick<Awaited<ReturnType<typeof takenOver>>, 'paths' | 'headOf'>,
  store: ObjectStore,
) {
  const fill = startLakeFill({
    storeNow: () => store,
    workgroupId: WORKGROUP,
    paths,
    filesNow: async () => (await headOf()).files,
    pauseMs: 1,
    logger: silentLogger,
  });
  onTestFinished(() => fill.stop());
  return fill;
}

/** A store that records its downloads, and fails those that `refuses` names. */
function watched(store: ObjectStore, refuses: (key: string, count: number) => boolean = () => false) {
  const keys: string[] = [];
  return {
    keys,
    store: {
      ...store,
      async download(...args: Parameters<ObjectStore['download']>) {
        if (refuses(args[0], keys.length)) throw new Error('the store is down');
        keys.push(args[0]);
        return store.download(...args);
      },
    } satisfies ObjectStore,
  };
}

async function grow({ shard, snapshot }: Working, lake: Parameters<typeof publish>[1]) {
  await landMessages(shard, { count: 2, storeTimeMs: TEST_START_MS + DAY_MS });
  await publish(shard, lake);
  return snapshot();
}

describe.each(stores)('a lake in a $kind', ({ open }) => {
  test('is taken over without its files, and copied newest first', async () => {
    const store = await open();
    const at = await takenOver(store);
    const { paths, lake, second, generation } = at;
    expect(second.taken.warehouse).toBe('restored');
    expect(isLakeComplete(paths)).toBe(false);
    expect(missingFiles(paths, generation.files)).toHaveLength(generation.files.length);
    // Work and commits need none of the files.
    const next = await grow(second, lake);
    expect(await second.owner.mirror(next)).toMatchObject({ kind: 'mirrored' });
    expect((await renewCurrent(second.shard, lake)).dueInMs).toBeGreaterThan(0);
    expect(existsSync(paths.current)).toBe(false);

    const { keys, store: seen } = watched(at.source);
    const fill = fillOf(at, seen);
    await until('the lake is complete', () => fill.state() === undefined);
    expect(isLakeComplete(paths)).toBe(true);
    const { files } = await at.headOf();
    expect(missingFiles(paths, files)).toEqual([]);
    const own = new Set(generation.files.map(fileKey));
    expect(keys.toSorted()).toEqual(
      files
        .map(fileKey)
        .filter((key) => own.has(key))
        .toSorted(),
    );
    const hours = keys.flatMap((key) => /hour=([0-9T-]+)/.exec(key)?.[1] ?? []);
    expect(new Set(hours).size).toBeGreaterThan(HOURS / 2);
    expect(hours).toEqual(hours.toSorted().reverse());
    expect((await renewCurrent(second.shard, lake)).dueInMs).toBeUndefined();
    expect(existsSync(join(paths.current, 'analytics.duckdb'))).toBe(true);
  });
});

test.runIf(isSoak)('only files that are here are merged, and the others later', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const at = await takenOver(store);
  const { paths, lake, second } = at;
  const later = { ...lake, clock: createTestClock(TEST_START_MS + 2 * DAY_MS) };
  expect((await compactLake(second.shard, later)).kind).toBe('unchanged');
  const fill = fillOf(at, at.source);
  await until('the lake is complete', () => fill.state() === undefined);
  expect(isLakeComplete(paths)).toBe(true);
  const merged = await compactLake(second.shard, later);
  expect(merged.kind).toBe('compacted');
});

test('a fill that was stopped or killed anywhere continues with the missing files', {
  timeout: 240_000,
}, async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const at = await takenOver(store);
  const { paths, generation } = at;
  const all = generation.files;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 6 }), async (stops) => {
      for (const file of all) rmSync(filePath(paths, file), { force: true });
      writeFileSync(join(paths.root, INCOMPLETE_FILE), '');
      const copied: string[] = [];
      for (const after of stops) {
        const { keys, store: seen } = watched(at.source);
        const fill = fillOf(at, seen);
        await until('some files are copied', () => fill.state() === undefined || keys.length >= after);
        await fill.stop();
        const whole = all.filter((file) => existsSync(filePath(paths, file))).map(fileKey);
        copied.push(...keys.filter((key) => whole.includes(key)));
        expect(isLakeComplete(paths)).toBe(fill.state() === undefined);
        if (isLakeComplete(paths)) expect(missingFiles(paths, all)).toEqual([]);
      }
      const { keys, store: seen } = watched(at.source);
      const fill = fillOf(at, seen);
      await until('the lake is complete', () => fill.state() === undefined);
      expect(missingFiles(paths, all)).toEqual([]);
      expect([...copied, ...keys].toSorted()).toEqual(all.map(fileKey).toSorted());
    }),
    { numRuns: rounds(4, 10) },
  );
});

test.runIf(isSoak)(
  'a store that is down, and a file that is missing for a while, delay only the rest',
  async () => {
    const store = createFolderStore(join(tempDir(), 'store'));
    const at = await takenOver(store);
    const { paths, generation } = at;
    const victim = generation.files.find(({ dataset }) => dataset === 'messages')!;
    let isMissing = true;
    let refused = 0;
    const { store: seen } = watched(at.source, () => ++refused <= 3);
    const fill = fillOf(at, {
      ...seen,
      download: async (key, ...rest) =>
        isMissing && key === fileKey(victim) ? false : seen.download(key, ...rest),
    });
    await until('all others are here', () => fill.state()?.missingFiles === 1);
    await until('the reason is known', () => fill.state()?.error?.includes(victim.name) === true);
    expect(missingFiles(paths, generation.files)).toEqual([victim]);
    expect(isLakeComplete(paths)).toBe(false);
    isMissing = false;
    await until('the lake is complete', () => fill.state() === undefined);
  },
);

test('a file that no generation needs any more is not waited for', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const at = await takenOver(store);
  const { paths, lake, second, generation } = at;
  await storeDays(second.shard, [{ day: DAY, device: 1, energyWh: 2 }]);
  await publish(second.shard, lake);
  const now = new Set((await at.headOf()).files.map(({ name }) => name));
  const gone = generation.files.find(({ name }) => !now.has(name));
  expect(gone?.dataset).toBe('daily_energy');
  const fill = fillOf(at, watched(at.source, (key) => key === fileKey(gone!)).store);
  await until('the lake is complete', () => fill.state() === undefined);
  expect(missingFiles(paths, (await at.headOf()).files)).toEqual([]);
});
