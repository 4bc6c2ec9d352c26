import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, type TestContext, type TestOptions, test } from 'vitest';
import { type CachedObject, openFileCache } from '../../src/storage/file-cache.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { damagedObject, type ObjectStore } from '../../src/storage/object-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const KILOBYTE = 1_000;

async function putObject(store: ObjectStore, name: string, bytes = 10 * KILOBYTE): Promise<CachedObject> {
  const content = randomBytes(bytes);
  const key = `files/${name}.parquet`;
  await store.put(key, { bytes: content });
  return { store, key, name: `acme/${key}`, bytes, sha256: sha256Of(content) };
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const isSound = (folder: string, { name, sha256 }: CachedObject) =>
  sha256Of(readFileSync(join(folder, name))) === sha256;

async function openCache(options: Partial<Parameters<typeof openFileCache>[0]> = {}) {
  const cache = await openFileCache({ folder: tempDir(), bytesMax: 1e6, pauseMs: 1, ...options });
  onTestFinished(() => cache.close());
  return cache;
}

/** A bucket behind a proxy that chooses the fate of each GET. */
async function lossyStore(fateOf: (path: string) => Fate) {
  const settings = await s3ForTests();
  const endpoint = await startLossyProxy(settings.endpoint, ({ method, path }) =>
    method === 'GET' ? fateOf(path) : 'pass',
  );
  return { direct: createS3Store(settings), lossy: createS3Store({ ...settings, endpoint }) };
}

const kinds = [
  { kind: 'folder', open: async () => createFolderStore(join(tempDir(), 'store')), skip: undefined },
  { kind: 's3', open: async () => createS3Store(await s3ForTests()), skip: s3Missing },
];

describe.each(kinds)('a cache of objects in a $kind', ({ open, skip }) => {
  const check = (
    name: string,
    work: (store: ObjectStore, context: TestContext) => Promise<void>,
    options: TestOptions = {},
  ) =>
    test.skipIf(skip)(skip ? `${name} (${skip})` : name, options, async (context) =>
      work(await open(), context),
    );

  check('held files are here, and stay until they are released', async (store) => {
    const cache = await openCache({ bytesMax: 25 * KILOBYTE });
    const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((name) => putObject(store, name)));
    const held = await cache.pin([a!, b!]);
    expect([a!, b!].map((one) => isSound(cache.folder, one))).toEqual([true, true]);
    // The two held files leave no room.
    await expect(cache.pin([c!])).rejects.toMatchObject({ code: 'CacheBusy', retryable: true });
    expect(cache.usage()).toEqual({ files: 2, bytes: 20 * KILOBYTE, heldBytes: 20 * KILOBYTE });
    held[Symbol.dispose]();

    // The least recently used file goes.
    (await cache.pin([a!]))[Symbol.dispose]();
    (await cache.pin([c!]))[Symbol.dispose]();
    expect([a!, b!, c!].map(({ name }) => existsSync(join(cache.folder, name)))).toEqual([true, false, true]);
    expect(cache.usage()).toEqual({ files: 2, bytes: 20 * KILOBYTE, heldBytes: 0 });
    await expect(cache.pin([a!, b!, d!])).rejects.toMatchObject({ code: 'CacheTooSmall', retryable: false });
    expect(cache.usage().heldBytes).toBe(0);
  });

  check('the next process uses the files, and deletes what is incomplete', async (store) => {
    const folder = tempDir();
    const names = ['a', 'b', 'c', 'd'];
    const objects = await Promise.all(names.map((name) => putObject(store, name)));
    const first = await openCache({ folder });
    (await first.pin(objects))[Symbol.dispose]();
    await first.close();
    const paths = objects.map(({ name }) => join(folder, name));
    // Used in this order, and fetched with a failure of the disk: another size, other bytes, and a part of a
    // file.
    for (const [index, path] of paths.entries()) utimesSync(path, 1_000 + index, 1_000 + index);
    writeFileSync(paths[1]!, 'short');
    writeFileSync(paths[2]!, randomBytes(10 * KILOBYTE));
    for (const index of [1, 2]) utimesSync(paths[index]!, 1_000 + index, 1_000 + index);
    writeFileSync(`${paths[0]!}.0b0c.part`, 'part');
    await store.remove(objects[3]!.key);

    const second = await openCache({ folder });
    expect(existsSync(`${paths[0]!}.0b0c.part`)).toBe(false);
    expect(second.usage()).toEqual({ files: 4, bytes: 30 * KILOBYTE + 5, heldBytes: 0 });
    using _held = await second.pin(objects);
    expect(objects.map((one) => isSound(folder, one))).toEqual([true, true, true, true]);

    const small = await openCache({ folder: tempDir(), bytesMax: 10 * KILOBYTE });
    (await small.pin([objects[0]!]))[Symbol.dispose]();
    await small.close();
    const path = join(small.folder, objects[0]!.name);
    utimesSync(path, 1_000, 1_000);
    writeFileSync(join(small.folder, 'newer'), randomBytes(10 * KILOBYTE));
    await openCache({ folder: small.folder, bytesMax: 10 * KILOBYTE });
    expect(existsSync(path)).toBe(false);
    expect(existsSync(join(small.folder, 'newer'))).toBe(true);
  });

  check('a file that was deleted, cut or damaged meanwhile is fetched again', async (store) => {
    const cache = await openCache();
    const object = await putObject(store, 'a');
    const path = join(cache.folder, object.name);
    const damages = [
      () => rmSync(path),
      () => writeFileSync(path, 'cut'),
      () => writeFileSync(path, randomBytes(object.bytes)),
    ];
    for (const damage of damages) {
      (await cache.pin([object]))[Symbol.dispose]();
      damage();
      using _held = await cache.pin([object]);
      expect(isSound(cache.folder, object)).toBe(true);
    }
  });

  check(
    'a held file stays after its object was collected, and is an error when it is not here',
    async (store) => {
      const cache = await openCache({ bytesMax: 20 * KILOBYTE });
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => putObject(store, name)));
      const held = await cache.pin([a!]);
      await store.remove(a!.key);
      // Other queries want it too, and others want other files.
      const others = await Promise.all([cache.pin([a!]), cache.pin([b!])]);
      await expect(cache.pin([c!])).rejects.toMatchObject({ code: 'CacheBusy' });
      expect(isSound(cache.folder, a!)).toBe(true);
      for (const one of [held, ...others]) one[Symbol.dispose]();
      (await cache.pin([b!, c!]))[Symbol.dispose]();
      await expect(cache.pin([a!])).rejects.toMatchObject({ code: 'ObjectMissing', retryable: true });
      expect(cache.usage()).toMatchObject({ heldBytes: 0 });
      using _held = await cache.pin([b!]);
    },
  );

  check(
    'many workgroups share a small cache',
    async (store) => {
      const [workgroups, filesMax] = [50, 10];
      const objects = await Promise.all(
        Array.from({ length: workgroups }, (_, index) =>
          Promise.all(['x', 'y'].map((name) => putObject(store, `${index}/${name}`, KILOBYTE))),
        ),
      );
      const cache = await openCache({ bytesMax: filesMax * KILOBYTE, fetchesMax: 4 });
      let [answered, refused] = [0, 0];
      /** A caller asks for each workgroup, in its own order. */
      async function ask(step: number, isBusyAllowed: boolean): Promise<void> {
        for (let at = 0; at < workgroups; at++) {
          const wanted = objects[(at * step) % workgroups]!;
          try {
            using _held = await cache.pin(wanted);
            expect(wanted.every((one) => isSound(cache.folder, one))).toBe(true);
            expect(cache.usage().bytes).toBeLessThanOrEqual(filesMax * KILOBYTE);
            answered += 1;
          } catch (error) {
            expect(error).toMatchObject({ code: 'CacheBusy', retryable: true });
            expect(isBusyAllowed).toBe(true);
            refused += 1;
          }
        }
      }
      // Five callers hold ten files at most, which is all that fits.
      await Promise.all([1, 3, 7, 9, 11].map((step) => ask(step, false)));
      expect(answered).toBe(5 * workgroups);
      await Promise.all([1, 3, 7, 9, 11, 13, 17, 19, 21, 23].map((step) => ask(step, true)));
      expect(answered + refused).toBe(15 * workgroups);
      expect(answered).toBeGreaterThan(6 * workgroups);
      expect(cache.usage().heldBytes).toBe(0);
      expect(allFiles(cache.folder).length).toBe(cache.usage().files);
      expect(cache.usage().files).toBeLessThanOrEqual(filesMax);
    },
    { tags: ['slow'] },
  );

  check('damaged and missing objects are errors, and nothing of them stays', async (store) => {
    const cache = await openCache();
    const object = await putObject(store, 'a');
    const wrong = { ...object, sha256: 'f'.repeat(64) };
    await expect(cache.pin([wrong])).rejects.toMatchObject({ code: 'ObjectDamaged', retryable: false });
    const missing = { ...object, key: 'files/none', name: 'acme/files/none' };
    const good = await putObject(store, 'b');
    await expect(cache.pin([missing, good])).rejects.toMatchObject({ code: 'ObjectMissing' });
    await until('the other fetch has ended', () => cache.usage().heldBytes === 0);
    expect(existsSync(join(cache.folder, object.name))).toBe(false);
    const outside = { ...object, name: '../../outside' };
    await expect(cache.pin([good, outside])).rejects.toMatchObject({ code: 'UnsafeKey' });
    expect(cache.usage().heldBytes).toBe(0);
    using _held = await cache.pin([object]);
    expect(isSound(cache.folder, object)).toBe(true);
  });

  check(
    'a full disk is an error with words, and other files are deleted before it',
    async (store, context) => {
      const disk = mountSmallDisk(1)?.folder;
      if (!disk) return context.skip('this user cannot mount a file system');
      const cache = await openCache({ folder: disk, bytesMax: 1e8 });
      const [a, b] = [
        await putObject(store, 'a', 700 * KILOBYTE),
        await putObject(store, 'b', 700 * KILOBYTE),
      ];
      const large = await putObject(store, 'c', 3_000 * KILOBYTE);
      const held = await cache.pin([a]);
      await expect(cache.pin([b])).rejects.toMatchObject({ code: 'DiskFull', retryable: true });
      await expect(cache.pin([b])).rejects.toThrow('the disk of the cache');
      held[Symbol.dispose]();
      using _held = await cache.pin([b]);
      expect(isSound(disk, b)).toBe(true);
      expect(existsSync(join(disk, a.name))).toBe(false);
      await expect(cache.pin([large])).rejects.toMatchObject({ code: 'DiskFull' });
      expect(partsOf(disk)).toEqual([]);
    },
  );
});

describe.skipIf(s3Missing)('fetches from a store that loses answers', () => {
  test('concurrent callers share one fetch of each file, and few fetches run at a time', async () => {
    const gets: string[] = [];
    let running = 0;
    let most = 0;
    const { direct } = await lossyStore(() => 'pass');
    const store: ObjectStore = {
      ...direct,
      async download(key, ...rest) {
        gets.push(key);
        running += 1;
        most = Math.max(most, running);
        try {
          return await direct.download(key, ...rest);
        } finally {
          running -= 1;
        }
      },
    };
    const objects = await Promise.all(
      Array.from({ length: 20 }, (_, index) => putObject(store, `file-${index}`)),
    );
    const cache = await openCache({ fetchesMax: 3 });
    const held = await Promise.all(Array.from({ length: 5 }, () => cache.pin(objects)));
    expect(gets.toSorted()).toEqual(objects.map(({ key }) => key).toSorted());
    expect(most).toBe(3);
    for (const one of held) one[Symbol.dispose]();
    expect(cache.usage()).toMatchObject({ files: 20, heldBytes: 0 });
  });

  test('a lost answer is asked for again, and not for ever', async () => {
    const fates: Fate[] = ['lose', 'status-after', 'pass', 'drop-answer', 'pass', 'lose', 'lose', 'lose'];
    const { direct, lossy } = await lossyStore(() => fates.shift() ?? 'pass');
    const objects = await Promise.all(['a', 'b', 'c'].map((name) => putObject(direct, name)));
    const [a, b, c] = objects.map((object) => ({ ...object, store: lossy }));
    const cache = await openCache();
    using _held = await cache.pin([a!]);
    using _other = await cache.pin([b!]);
    expect([a!, b!].map((one) => isSound(cache.folder, one))).toEqual([true, true]);
    await expect(cache.pin([c!])).rejects.toMatchObject({ code: 'StorageUnreachable', retryable: true });
    expect(fates).toEqual([]);
    using _third = await cache.pin([c!]);
  });

  test('a fetch that nobody waits for any more is stopped, and a shared one continues', async () => {
    let fate: Fate = 'hang';
    let requests = 0;
    const { direct, lossy } = await lossyStore(() => {
      requests += 1;
      return fate;
    });
    const object = { ...(await putObject(direct, 'a')), store: lossy };
    const cache = await openCache();
    const [first, second] = [new AbortController(), new AbortController()];
    const holds = [first, second].map(({ signal }) => cache.pin([object], signal));
    const outcomes = Promise.allSettled(holds);
    await until('the store was asked', () => requests === 1);
    first.abort(new Error('gone'));
    await expect(holds[0]).rejects.toThrow('gone');
    expect(cache.usage().heldBytes).toBe(object.bytes);
    second.abort(new Error('gone'));
    await outcomes;
    await until('the fetch has ended', () => cache.usage().files === 0);
    fate = 'pass';
    using _held = await cache.pin([object]);
    expect(isSound(cache.folder, object)).toBe(true);
    fate = 'hang';
    const waiting = cache.pin([{ ...object, name: 'other' }]);
    const closed = expect(waiting).rejects.toMatchObject({ code: 'CacheClosed' });
    await cache.close();
    await closed;
    await expect(cache.pin([])).rejects.toMatchObject({ code: 'CacheClosed' });
  });
});

test('an object that arrives damaged once is fetched again', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const object = await putObject(store, 'a');
  let downloads = 0;
  const damaging: ObjectStore = {
    ...store,
    async download(key, ...more) {
      if (downloads++ === 0)
        throw damagedObject(store.address, key, 'its SHA-256 differs from the recorded one');
      return store.download(key, ...more);
    },
  };
  const cache = await openCache();
  using _held = await cache.pin([{ ...object, store: damaging }]);
  expect([downloads, isSound(cache.folder, object)]).toEqual([2, true]);
});

test('after kill -9 at any moment the folder has complete files only', { tags: ['slow'] }, async () => {
  const [storeDir, folder] = [tempDir(), tempDir()];
  const store = createFolderStore(storeDir);
  const objects = await Promise.all(
    Array.from({ length: 30 }, (_, index) => putObject(store, `file-${index}`, 200 * KILOBYTE)),
  );
  const given = objects.map(({ store: _, ...object }) => object);
  for (let round = 0; round < rounds(2, 40); round++) {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'cache-child.ts'), storeDir, folder, JSON.stringify(given)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const exited = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await until('it has fetched some', () => {
      return allFiles(folder).length - partsOf(folder).length > (round * 5) % 15;
    });
    child.kill('SIGKILL');
    await exited;
    const cache = await openFileCache({ folder, bytesMax: 1e8 });
    expect(partsOf(folder)).toEqual([]);
    const here = objects.filter(({ name }) => existsSync(join(folder, name)));
    expect(here.length).toBeGreaterThan(0);
    expect(here.filter((object) => !isSound(folder, object))).toEqual([]);
    expect(cache.usage().files).toBe(here.length);
    await cache.close();
  }
});

function allFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

const partsOf = (folder: string) => allFiles(folder).filter((name) => name.endsWith('.part'));
