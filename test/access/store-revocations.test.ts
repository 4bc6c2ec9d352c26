import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { ensureKeys } from '../../src/access/keys.ts';
import { syncRevocations } from '../../src/access/store-revocations.ts';
import { openTokenFiles, revokedFileOf } from '../../src/access/token-files.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS, systemClock } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { s3Failure } from '../../src/storage/s3-failure.ts';
import { serviceStore } from '../../src/storage/workgroup-store.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isSoak } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const timeout = 240_000;
const isRevoked = 'the token is not valid';

/** A folder store that counts its requests, and can be away. */
function watchedStore() {
  const folder = createFolderStore(join(tempDir(), 'store'));
  const requests = { list: 0, createKey: 0 };
  let isAway = false;
  const request = (kind: keyof typeof requests) => {
    requests[kind]++;
    if (isAway) throw new TransientError('NoAnswer', 'the store is away');
  };
  const store: ObjectStore = {
    ...folder,
    list(...parameters) {
      request('list');
      return folder.list(...parameters);
    },
    async createKey(...parameters) {
      request('createKey');
      return folder.createKey(...parameters);
    },
  };
  return {
    store,
    requests,
    setAway(to: boolean) {
      isAway = to;
    },
  };
}

/** Keeps the events that a logger writes. */
function recordingLogger() {
  const events: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void events.push(line) });
  return { events, logger };
}

/** Data folders with one key file, one store and one clock, and no Redis. */
async function setUp(store?: ObjectStore) {
  const folder = tempDir();
  const jwksFile = join(folder, 'keys', 'keys.json');
  await ensureKeys(jwksFile);
  const sharedStore = store ?? createFolderStore(join(folder, 'store'));
  const openAccess = (dataDir: string) =>
    createAccess({ dataDir, jwksFile, issuer: 'wattline', clock: systemClock });
  const issuer = await openAccess(join(folder, 'issuer'));
  const clock = createTestClock();
  return {
    folder,
    clock,
    jwksFile,
    store: sharedStore,
    issue: () =>
      issuer.issue({
        subject: 'tester',
        scopes: { home: { permissions: ['search:read'] } },
        lifetimeMs: timeout,
      }),
    async start(name: string) {
      const dataDir = join(folder, name);
      const access = await openAccess(dataDir);
      const { events, logger } = recordingLogger();
      const { startTimer } = clock;
      const stop = await syncRevocations({ dataDir, store: sharedStore, clock, startTimer, logger });
      onTestFinished(stop);
      const state = (token: string) =>
        access.authenticate(token).then(
          () => 'accepted',
          (error: Error) => error.message,
        );
      const revokedIds = () => [...openTokenFiles(join(dataDir, 'access')).revoked().keys()];
      return { dataDir, revoke: access.revoke, revokedIds, state, stop, events };
    },
    /** Lets time pass until a condition holds. */
    untilLater: (what: string, condition: () => boolean | Promise<boolean>) =>
      until(what, async () => {
        await clock.advance(SECOND_MS);
        return condition();
      }),
  };
}

/** The same with a bucket, which can be lost. */
async function setUpBucket() {
  let fate: Fate = 'pass';
  const direct = await s3ForTests();
  const s3 = { ...direct, endpoint: await startLossyProxy(direct.endpoint, () => fate) };
  return {
    ...(await setUp(serviceStore({ s3 }))),
    s3,
    direct: serviceStore({ s3: direct })!,
    setFate(to: Fate) {
      fate = to;
    },
  };
}

test('a revoked token is refused in another data folder, and in a new one after all others are lost', {
  tags: ['slow'],
}, async () => {
  const { start, issue, untilLater } = await setUp();
  const [one, other] = [await start('one'), await start('other')];
  const [first, kept] = [await issue(), await issue()];
  for (const { state } of [one, other]) expect(await state(first.token)).toBe('accepted');
  one.revoke(first.tokenId);
  await untilLater('the token is refused', async () => (await other.state(first.token)) === isRevoked);
  for (const { stop, dataDir } of [one, other]) {
    await stop();
    rmSync(dataDir, { recursive: true });
  }
  const later = await start('later');
  expect(await later.state(first.token)).toBe(isRevoked);
  expect(await later.state(kept.token)).toBe('accepted');
  expect(later.events).toEqual([]);
});

test.skipIf(!isSoak || s3Missing)(
  'without the bucket, what the folder knows counts, and new revocations are stored later',
  { timeout },
  async () => {
    const { start, issue, setFate, untilLater } = await setUpBucket();
    const [one, other] = [await start('one'), await start('other')];
    const [before, meanwhile] = [await issue(), await issue()];
    one.revoke(before.tokenId);
    await untilLater('the other one knows it', async () => (await other.state(before.token)) === isRevoked);
    setFate('lose');
    one.revoke(meanwhile.tokenId);
    expect(await one.state(meanwhile.token)).toBe(isRevoked);
    await other.stop();
    const again = await start('other');
    expect(await again.state(before.token)).toBe(isRevoked);
    await untilLater('the log says it', () => one.events.length > 0);
    expect(one.events.join()).toContain('access.revocations-not-stored');
    setFate('pass');
    await untilLater('it is stored', async () => (await again.state(meanwhile.token)) === isRevoked);
    expect(one.events).toHaveLength(1);
  },
);

test.skipIf(s3Missing)(
  'a machine that has never read the revoked tokens does not start without the bucket',
  { tags: ['slow'], timeout },
  async () => {
    const startOf = async (fate: Fate) => {
      const { start, setFate } = await setUpBucket();
      const known = await start('known');
      await known.stop();
      setFate(fate);
      return { start, setFate };
    };
    const [hanging, losing] = [await startOf('hang'), await startOf('lose')];
    await Promise.all([
      expect(hanging.start('new')).rejects.toThrow(
        'it would accept them; start again when the bucket answers',
      ),
      expect(losing.start('new')).rejects.toThrow('has never read them'),
      losing.start('known'),
    ]);
    losing.setFate('pass');
    await losing.start('new');
  },
);

test('the file is looked at every second, and the store is listed every 30 s', async () => {
  const dataDir = tempDir();
  const { store, requests } = watchedStore();
  const clock = createTestClock();
  const { startTimer, advance } = clock;
  onTestFinished(await syncRevocations({ dataDir, store, clock, startTimer, logger: silentLogger }));
  await advance(30 * SECOND_MS - 1);
  expect(requests).toEqual({ list: 1, createKey: 0 });
  await advance(1);
  expect(requests).toEqual({ list: 2, createKey: 0 });
  await until('the list has ended', () => clock.timersPending === 1);
  openTokenFiles(join(dataDir, 'access')).addRevoked({ tokenId: 'lost', revokedAtMs: 1 });
  await advance(SECOND_MS - 1);
  expect(requests).toEqual({ list: 2, createKey: 0 });
  await advance(1);
  await until('it is stored', async () => (await store.get('revoked/lost')) !== undefined);
  expect(requests).toEqual({ list: 2, createKey: 1 });
});

test('a store that has failed is asked again after 5 s, and one event is logged until it answers', async () => {
  const dataDir = tempDir();
  const { store, requests, setAway } = watchedStore();
  const clock = createTestClock();
  const { startTimer, advance } = clock;
  const { events, logger } = recordingLogger();
  onTestFinished(await syncRevocations({ dataDir, store, clock, startTimer, logger }));
  const { addRevoked } = openTokenFiles(join(dataDir, 'access'));
  for (const tokenId of ['first', 'second']) {
    requests.createKey = 0;
    events.length = 0;
    setAway(true);
    addRevoked({ tokenId, revokedAtMs: 1 });
    await advance(SECOND_MS);
    expect(requests.createKey).toBe(1);
    await advance(5 * SECOND_MS - 1);
    expect(requests.createKey).toBe(1);
    await advance(1);
    expect(requests.createKey).toBe(2);
    setAway(false);
    await advance(5 * SECOND_MS);
    await until('it is stored', async () => (await store.get(`revoked/${tokenId}`)) !== undefined);
    await until('the attempt has ended', () => clock.timersPending === 1);
    expect(requests.createKey).toBe(3);
    expect(events).toEqual([expect.stringContaining('access.revocations-not-stored')]);
  }
});

test('a machine that has never read the revoked tokens says why it cannot', async () => {
  const dataDir = tempDir();
  const store = createFolderStore(join(dataDir, 'store'));
  const refusing: typeof store = {
    ...store,
    list() {
      throw s3Failure('s3://energy', 'list', { status: 403, text: '<Code>AccessDenied</Code>' });
    },
  };
  const clock = createTestClock();
  const { startTimer } = clock;
  const start = syncRevocations({ dataDir, store: refusing, clock, startTimer, logger: silentLogger });
  await expect(start).rejects.toThrow(
    /AccessDenied.*it needs s3:ListBucket\), and this machine has never read them/,
  );
});

test('a folder that has read the store starts while the store is away, even if no token was revoked', async () => {
  const { store, setAway } = watchedStore();
  const { start } = await setUp(store);
  await (await start('known')).stop();
  setAway(true);
  await start('known');
  await expect(start('new')).rejects.toThrow('has never read them');
});

test('a damaged object counts, and objects and lines with other ids change nothing', async () => {
  const { folder, start, issue, store } = await setUp();
  const [first, other] = [await issue(), await issue()];
  await store.createKey(`revoked/${first.tokenId}`, Buffer.alloc(0));
  await store.createKey(`revoked/deeper/${other.tokenId}`, Buffer.from('{}'));
  await store.createKey(`revoked-not/${other.tokenId}`, Buffer.from('{}'));
  const ofOne = openTokenFiles(join(folder, 'one', 'access'));
  ofOne.addRevoked({ tokenId: `line/${other.tokenId}`, revokedAtMs: 1 });
  const one = await start('one');
  expect(one.revokedIds()).toEqual([`line/${other.tokenId}`, first.tokenId]);
  expect(await one.state(first.token)).toBe(isRevoked);
  expect(await one.state(other.token)).toBe('accepted');
  await one.stop();
  const file = revokedFileOf(join(folder, 'one', 'access'));
  const lines = readFileSync(file, 'utf8');
  await start('one');
  expect(readFileSync(file, 'utf8')).toBe(lines);
  const keys = (await Array.fromAsync(store.list('revoked/'))).map(({ key }) => key);
  expect(keys).toEqual([`revoked/${first.tokenId}`, `revoked/deeper/${other.tokenId}`].sort());
});

test.skipIf(s3Missing)('the command stores the revocation before it ends', { timeout }, async () => {
  const { folder, jwksFile, s3, direct, issue, setFate } = await setUpBucket();
  writeFileSync(
    join(folder, 'wattline.yaml'),
    JSON.stringify({ storage: { s3 }, access: { jwksFile }, workgroups: [{ id: 'home' }] }),
  );
  const revoke = (tokenId: string) => runCommand(['token', 'revoke', tokenId], { cwd: folder });
  const { tokenId } = await issue();
  expect((await revoke(tokenId)).code).toBe(0);
  expect(JSON.parse(String(await direct.get(`revoked/${tokenId}`)))).toMatchObject({ tokenId });
  expect(await revoke(tokenId)).toMatchObject({ code: 0, stdout: expect.stringContaining('was already') });

  setFate('lose');
  const away = await revoke((await issue()).tokenId);
  expect(away.code).toBe(0);
  expect(away.stderr).toContain('other machines do not know it yet (s3://');
  expect(away.stderr).not.toContain(s3.secretAccessKey);
});
