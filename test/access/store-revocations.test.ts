import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { ensureKeys } from '../../src/access/keys.ts';
import { syncRevocations } from '../../src/access/store-revocations.ts';
import { openTokenFiles } from '../../src/access/token-files.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS, systemClock } from '../../src/lib/time.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { s3Failure } from '../../src/storage/s3-failure.ts';
import { serviceStore } from '../../src/storage/workgroup-store.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isFull, isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const timeout = 240_000;
const listEveryMs = 300;
const isRevoked = 'the token is not valid';

/** Data folders with one key file and one store, and no Redis. */
async function setUp(store?: ObjectStore) {
  const folder = tempDir();
  const jwksFile = join(folder, 'keys', 'keys.json');
  await ensureKeys(jwksFile);
  const sharedStore = store ?? createFolderStore(join(folder, 'store'));
  const openAccess = (dataDir: string) =>
    createAccess({ dataDir, jwksFile, issuer: 'wattline', clock: systemClock });
  const issuer = await openAccess(join(folder, 'issuer'));
  return {
    folder,
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
      const events: string[] = [];
      const sink = { write: (line: string) => void events.push(line) };
      const stop = await syncRevocations({
        dataDir,
        store: sharedStore,
        startTimer: startSystemTimer,
        logger: pino({ level: 'warn' }, sink),
        listEveryMs,
      });
      onTestFinished(stop);
      const state = (token: string) =>
        access.authenticate(token).then(
          () => 'accepted',
          (error: Error) => error.message,
        );
      const revokedIds = () => [...openTokenFiles(join(dataDir, 'access')).revoked().keys()];
      return { dataDir, revoke: access.revoke, revokedIds, state, stop, events };
    },
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

test('a revoked token is refused in another data folder, and in a new one after all others are lost', async () => {
  const { start, issue } = await setUp();
  const [one, other] = [await start('one'), await start('other')];
  const [first, kept] = [await issue(), await issue()];
  for (const { state } of [one, other]) expect(await state(first.token)).toBe('accepted');
  one.revoke(first.tokenId);
  await until('the token is refused', async () => (await other.state(first.token)) === isRevoked);
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
    const { start, issue, setFate } = await setUpBucket();
    const [one, other] = [await start('one'), await start('other')];
    const [before, meanwhile] = [await issue(), await issue()];
    one.revoke(before.tokenId);
    await until('the other one knows it', async () => (await other.state(before.token)) === isRevoked);
    setFate('lose');
    one.revoke(meanwhile.tokenId);
    expect(await one.state(meanwhile.token)).toBe(isRevoked);
    await other.stop();
    const again = await start('other');
    expect(await again.state(before.token)).toBe(isRevoked);
    await until('the log says it', () => one.events.length > 0);
    expect(one.events.join()).toContain('access.revocations-not-stored');
    setFate('pass');
    await until('it is stored', async () => (await again.state(meanwhile.token)) === isRevoked);
    expect(one.events).toHaveLength(1);
  },
);

test.runIf(isFull && !s3Missing)(
  'a machine that has never read the revoked tokens does not start without the bucket',
  { timeout },
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

test('between two lists of the store, new revocations are stored without a list', async () => {
  const dataDir = tempDir();
  const folder = createFolderStore(join(dataDir, 'store'));
  let lists = 0;
  const store: typeof folder = {
    ...folder,
    list(prefix, options) {
      lists++;
      return folder.list(prefix, options);
    },
  };
  const { startTimer, advance } = createTestClock();
  const stop = await syncRevocations({ dataDir, store, startTimer, logger: silentLogger });
  onTestFinished(stop);
  openTokenFiles(join(dataDir, 'access')).addRevoked({ tokenId: 'lost', revokedAtMs: 1 });
  await until('it is stored', async () => {
    await advance(SECOND_MS);
    return (await folder.get('revoked/lost')) !== undefined;
  });
  expect(lists).toBe(1);
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
  const { startTimer } = createTestClock();
  const start = syncRevocations({ dataDir, store: refusing, startTimer, logger: silentLogger });
  await expect(start).rejects.toThrow(
    /AccessDenied.*it needs s3:ListBucket\), and this machine has never read them/,
  );
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
  const keys = (await Array.fromAsync(store.list('revoked/'))).map(({ key }) => key);
  expect(keys).toEqual([`revoked/${first.tokenId}`, `revoked/deeper/${other.tokenId}`].sort());
});

test.skipIf(s3Missing)('the command stores the revocation before it ends', { timeout }, async () => {
  const { folder, jwksFile, s3, direct, issue, setFate } = await setUpBucket();
  writeFileSync(
    join(folder, 'wattline.yaml'),
    JSON.stringify({ storage: { s3 }, access: { jwksFile }, workgroups: [{ id: 'home' }] }),
  );
  const revoke = (tokenId: string) => runCli(['token', 'revoke', tokenId], { cwd: folder });
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
