import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { startS3Server } from '../exports/s3-server.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A store in a bucket of a server of the test, whose answers can be chosen. */
async function openStore(prefix = 'p/') {
  const keys = { accessKeyId: 'KEY', secretAccessKey: 'a-secret', region: 'us-east-1' };
  const server = await startS3Server(keys);
  return { server, store: createS3Store({ ...keys, endpoint: server.url, bucket: 'b', prefix }) };
}

const code = (name: string) => `<Error><Code>${name}</Code></Error>`;

test('the address is that of the bucket and the prefix, without a slash at its end', async () => {
  expect((await openStore()).store.address).toBe('s3://b/p');
  expect((await openStore('')).store.address).toBe('s3://b');
});

test('an object has the prefix before its key', async () => {
  const { server, store } = await openStore();
  await store.put('a/b', { bytes: Buffer.from('x') });
  expect([...server.objects.keys()]).toEqual(['/b/p/a/b']);
});

test('an object of more than 5 GiB is refused without a request', async () => {
  const { server, store } = await openStore();
  const content = { path: '/none', bytes: 5 * 2 ** 30 + 1, sha256: 'a'.repeat(64) };
  await expect(store.put('a', content)).rejects.toMatchObject({
    code: 'ObjectTooLarge',
    message: expect.stringContaining('s3://b/p/a has more than 5,368,709,120 bytes'),
  });
  // With one byte less, only the file is missing.
  await expect(store.put('a', { ...content, bytes: 5 * 2 ** 30 })).rejects.toMatchObject({ code: 'ENOENT' });
  expect(server.requests).toEqual([]);
});

test('no bytes are read without a request, and none behind the end of an object', async () => {
  const { server, store } = await openStore();
  expect(await store.getRange('a', 5, 0)).toEqual(Buffer.alloc(0));
  expect(server.requests).toEqual([]);
  server.refuseWith(416, code('InvalidRange'));
  expect(await store.getRange('a', 5, 1)).toEqual(Buffer.alloc(0));
});

test('a store that ignores ranges is refused', async () => {
  const { store } = await openStore();
  await store.put('a', { bytes: Buffer.from('abc') });
  await expect(store.getRange('a', 1, 1)).rejects.toMatchObject({
    code: 'StorageUnsuitable',
    message: 's3://b/p: the store ignores ranges; use another store',
  });
});

test('an object may have as many bytes as were asked for, and no more', async () => {
  const { store } = await openStore();
  await store.put('a', { bytes: Buffer.from('abc') });
  expect(String(await store.get('a', { bytesMax: 3 }))).toBe('abc');
  await expect(store.get('a', { bytesMax: 2 })).rejects.toMatchObject({ code: 'ObjectTooLarge' });
});

test.each<[status: number, name: string, what: 'exists' | string]>([
  [412, 'PreconditionFailed', 'exists'],
  [409, 'ConditionalRequestConflict', 'StorageBusy'],
  [403, 'AccessDenied', 'StorageForbidden'],
])('a creation that is answered with HTTP %i, %s, is %s', async (status, name, what) => {
  const { server, store } = await openStore();
  server.refuseWith(status, code(name));
  const created = store.createKey('a', Buffer.from('x')).catch((error) => error.code);
  expect(await created).toBe(what);
});

test.each<[name: string, isMissing: boolean]>([
  ['NoSuchKey', true],
  ['NoSuchBucket', false],
])('HTTP 404, %s: the object does not exist: %s', async (name, isMissing) => {
  const { server, store } = await openStore();
  server.refuseWith(404, code(name));
  const path = join(tempDir(), 'a');
  const asked = [
    store.get('a'),
    store.getRange('a', 0, 1),
    store.download('a', path, { bytes: 1, sha256: '' }),
    store.remove('a'),
  ];
  const outcomes = await Promise.all(asked.map((one) => one.catch((error) => error.code)));
  expect(outcomes).toEqual(
    isMissing ? [undefined, undefined, false, undefined] : asked.map(() => 'StorageBucketMissing'),
  );
});

test.each([
  ['put', (store: Store) => store.put('a', { bytes: Buffer.from('x') })],
  ['get', (store: Store) => store.get('a')],
  ['get', (store: Store) => store.getRange('a', 0, 1)],
  ['get', (store: Store) => store.download('a', '/none', { bytes: 1, sha256: '' })],
  ['list', (store: Store) => store.list('').next()],
  ['delete', (store: Store) => store.remove('a')],
])('a refusal names what was asked: %s', async (action, ask) => {
  const { server, store } = await openStore();
  server.refuseWith(503, code('SlowDown'));
  await expect(ask(store)).rejects.toMatchObject({
    code: 'StorageBusy',
    retryable: true,
    message: `s3://b/p: ${action} failed (HTTP 503, SlowDown); the same may succeed later`,
    details: { store: 's3://b/p', action, status: 503, code: 'SlowDown' },
  });
});

type Store = ReturnType<typeof createS3Store>;
