import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { TransientError } from '../../src/lib/errors.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ListOptions, ObjectStore } from '../../src/storage/object-store.ts';
import { repeatRequests } from '../../src/storage/repeat-requests.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isSoak } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { tempDir } from '../support/temp-dir.ts';

const LOSSES: Fate[] = ['lose', 'drop-answer', 'late', 'status-after'];
const objects = Array.from({ length: 60 }, (_, index) => {
  const bytes = Buffer.from(`object ${index}`);
  return { key: `files/${index + 100}`, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
});

describe.skipIf(s3Missing)('a bucket behind a network', () => {
  async function stores(decide: () => Fate) {
    const settings = await s3ForTests();
    const counts = { requests: 0 };
    const endpoint = await startLossyProxy(settings.endpoint, () => {
      counts.requests++;
      return decide();
    });
    return {
      lossy: createS3Store({ ...settings, endpoint }),
      direct: createS3Store(settings),
      counts,
    };
  }
  const keysOf = async (store: ObjectStore, options: ListOptions = {}) => {
    const keys: string[] = [];
    for await (const { key } of store.list('files/', options)) keys.push(key);
    return keys;
  };

  test.runIf(isSoak)(
    'that loses a fifth of everything stores, reads, lists and deletes each object',
    async () => {
      const random = seededRandom(7);
      const { lossy, direct } = await stores(() =>
        random() < 0.2 ? LOSSES[Math.floor(random() * LOSSES.length)]! : 'pass',
      );
      const store = repeatRequests(lossy, { pauseMs: 1 });
      const folder = tempDir();
      for (const { key, bytes } of objects) await store.put(key, { bytes });
      expect(await keysOf(direct)).toEqual(objects.map(({ key }) => key));
      for (const { key, bytes, sha256 } of objects) {
        expect(await store.get(key)).toEqual(bytes);
        expect(await store.getRange(key, 1, 3)).toEqual(bytes.subarray(1, 4));
        const path = join(folder, key);
        expect(await store.download(key, path, { bytes: bytes.length, sha256 })).toBe(true);
        expect(readFileSync(path)).toEqual(bytes);
        expect(await keysOf(store, { startAfter: key })).toHaveLength(159 - Number(key.slice(6)));
      }
      expect(await keysOf(store, { keysMax: 7 })).toEqual(objects.slice(0, 7).map(({ key }) => key));
      for (const { key } of objects) await store.remove(key);
      expect(await keysOf(direct)).toEqual([]);
    },
  );

  test('that is down for a moment is asked again after pauses that double, until the patience ends', async () => {
    let lost = 0;
    const { lossy, direct, counts } = await stores(() => (lost++ < 3 ? 'lose' : 'pass'));
    await direct.put('files/1', { bytes: Buffer.from('abc') });
    const patient = repeatRequests(lossy, { pauseMs: 1, patienceMs: HOUR_MS });
    expect(await patient.get('files/1')).toEqual(Buffer.from('abc'));
    expect(counts.requests).toBe(4);

    [lost, counts.requests] = [Number.NEGATIVE_INFINITY, 0];
    const brief = repeatRequests(lossy, { pauseMs: 1, patienceMs: 50 });
    await expect(brief.get('files/1')).rejects.toMatchObject({ code: 'StorageUnreachable' });
    // The sixth request comes after 1 + 2 + 4 + 8 + 16 ms, and a seventh would come after 63 ms.
    expect(counts.requests).toBeLessThanOrEqual(6);
    [lost, counts.requests] = [Number.NEGATIVE_INFINITY, 0];
    const hasty = repeatRequests(lossy, { pauseMs: HOUR_MS, patienceMs: HOUR_MS - 1 });
    await expect(hasty.get('files/1')).rejects.toMatchObject({ code: 'StorageUnreachable' });
    expect(counts.requests).toBe(1);
  });

  test('that is down gets the creation of a key once', async () => {
    const { lossy, counts } = await stores(() => 'lose');
    const store = repeatRequests(lossy);
    await expect(store.createKey('files/1', Buffer.from('x'))).rejects.toMatchObject({
      code: 'StorageUnreachable',
    });
    expect(counts.requests).toBe(1);
  });

  test('that refuses is not asked again', async () => {
    const { lossy, direct, counts } = await stores(() => 'pass');
    await direct.put('files/1', { bytes: Buffer.from('abc') });
    const store = repeatRequests(lossy);
    await expect(store.get('files/1', { bytesMax: 1 })).rejects.toMatchObject({ code: 'ObjectTooLarge' });
    expect(counts.requests).toBe(1);
  });

  test('that is down does not hold up a call that is stopped in a pause', { timeout: 60_000 }, async () => {
    const { lossy, counts } = await stores(() => 'lose');
    const failed = Promise.withResolvers<void>();
    const get: ObjectStore['get'] = (...call) => lossy.get(...call).finally(() => failed.resolve());
    const store = repeatRequests({ ...lossy, get }, { pauseMs: HOUR_MS, patienceMs: DAY_MS });
    const stopping = new AbortController();
    const call = store.get('files/1', { signal: stopping.signal });
    const ended = expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await failed.promise;
    await setImmediate();
    stopping.abort();
    await ended;
    expect(counts.requests).toBe(1);
  });
});

test('a list that is cut continues after its last key while keys come, and has the requested number of keys', async () => {
  const folder = createFolderStore(tempDir());
  const some = objects.slice(0, 14);
  for (const { key, bytes } of some) await folder.put(key, { bytes });
  const cut: ObjectStore = {
    ...folder,
    async *list(prefix, options) {
      let count = 0;
      for await (const object of folder.list(prefix, options)) {
        if (count++ === 1) throw new TransientError('StorageUnreachable', 'the connection has ended');
        yield object;
      }
    },
  };
  const listed = async (options: ListOptions = {}) => {
    const keys: string[] = [];
    const store = repeatRequests(cut, { pauseMs: 1, patienceMs: 2_000 });
    for await (const { key } of store.list('files/', options)) keys.push(key);
    return keys;
  };
  expect(await listed()).toEqual(some.map(({ key }) => key));
  expect(await listed({ keysMax: 5 })).toEqual(some.slice(0, 5).map(({ key }) => key));
});
