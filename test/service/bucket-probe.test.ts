import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createBucketProbe } from '../../src/service/bucket-probe.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { tempDir } from '../support/temp-dir.ts';

const away = new TransientError('StorageUnreachable', 'away');

/** A store that creates keys as `createKey` does. `asked` counts its calls. */
function setUp(createKey?: (store: ObjectStore) => ObjectStore['createKey']) {
  const store = createFolderStore(join(tempDir(), 'store'));
  const state = { asked: 0, isAway: false };
  const create = createKey?.(store) ?? store.createKey;
  const watched: ObjectStore = {
    ...store,
    createKey(...given) {
      state.asked++;
      return state.isAway ? Promise.reject(away) : create(...given);
    },
  };
  return { state, probe: createBucketProbe(watched, silentLogger) };
}

test('without a bucket nothing is probed', async () => {
  const probe = createBucketProbe(undefined, silentLogger);
  await probe.atStart();
  await probe.beforeUse();
});

test('a bucket is probed until it was suitable once, and callers share a probe', async () => {
  const { state, probe } = setUp();
  await Promise.all([probe.atStart(), probe.beforeUse()]);
  const { asked } = state;
  expect(asked).toBeGreaterThan(0);
  state.isAway = true;
  await probe.beforeUse();
  expect(state.asked).toBe(asked);
  const single = setUp();
  await single.probe.beforeUse();
  expect(single.state.asked).toBe(asked);
});

test('a bucket that is away does not prevent the start, only its use, until it answers', async () => {
  const { state, probe } = setUp();
  state.isAway = true;
  await probe.atStart();
  await expect(probe.beforeUse()).rejects.toBe(away);
  state.isAway = false;
  await probe.beforeUse();
});

test('a bucket that creates a key twice prevents the start', async () => {
  const { probe } = setUp(() => async () => 'created');
  await expect(probe.atStart()).rejects.toMatchObject({ code: 'StorageUnsuitable' });
});
