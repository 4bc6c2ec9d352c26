// @module-tag slow
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { exportJWK, generateKeyPair } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { shareRevocations } from '../../src/access/shared-revocations.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { startRedis } from '../support/redis.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const refused = 'the token is not valid';

/** Processes with separate data folders, one key file and one Redis. */
async function setUp() {
  const folder = tempDir();
  const jwksFile = join(folder, 'keys.json');
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  writeFileSync(jwksFile, JSON.stringify({ keys: [await exportJWK(privateKey)] }));
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const admin = new Redis(server.url, { retryStrategy: () => 20 });
  admin.on('error', () => undefined);
  onTestFinished(() => admin.disconnect());
  const issuer = { dataDir: join(folder, 'issuer'), jwksFile, issuer: 'wattline', clock: systemClock };
  const access = await createAccess(issuer);
  const issue = async () =>
    access.issue({
      subject: 'dashboard',
      scopes: { acme: { permissions: ['search:read'] } },
      lifetimeMs: 60_000,
    });
  async function start(name: string) {
    const dataDir = join(folder, name);
    const child = fork(join(import.meta.dirname, 'revoking-child.ts'), [dataDir, jwksFile, server.url], {
      execArgv: [],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    return { dataDir, child };
  }
  return { start, server, admin, issue };
}

async function ask(child: ChildProcess, question: object): Promise<unknown> {
  const answer = once(child, 'message');
  child.send(question);
  return (await answer)[0];
}

const untilRefused = (child: ChildProcess, token: string) =>
  until('the token is refused', async () => (await ask(child, { token })) === refused);

test('a token that one process revokes is refused by a process with another data folder', async () => {
  const { start, issue } = await setUp();
  const [one, other] = [await start('one'), await start('other')];
  const [first, second] = [await issue(), await issue()];
  for (const { child } of [one, other]) expect(await ask(child, { token: first.token })).toBe('accepted');
  await ask(one.child, { revoke: first.tokenId });
  await untilRefused(other.child, first.token);
  expect(await ask(other.child, { token: second.token })).toBe('accepted');
  await ask(other.child, { revoke: second.tokenId });
  await untilRefused(one.child, second.token);
});

test('a command that only writes the file of one folder reaches the others', async () => {
  const { start, issue } = await setUp();
  const [one, other] = [await start('one'), await start('other')];
  const { token, tokenId } = await issue();
  const line = JSON.stringify({ tokenId, revokedAtMs: Date.now() });
  appendFileSync(join(one.dataDir, 'access', 'revoked.ndjson'), `${line}\n`);
  await untilRefused(other.child, token);
});

test('a revocation in the file is in Redis after the next look at the file, and not only when Redis is asked', async () => {
  const { server, admin } = await setUp();
  const dataDir = tempDir();
  const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
  const { startTimer, advance } = createTestClock();
  const stop = await shareRevocations({ dataDir, redis, startTimer, logger: silentLogger });
  onTestFinished(async () => {
    await stop();
    redis.close();
  });
  const line = JSON.stringify({ tokenId: 'leaked', revokedAtMs: 1 });
  appendFileSync(join(dataDir, 'access', 'revoked.ndjson'), `${line}\n`);
  await advance(400);
  await until('Redis has it', async () => (await admin.hget('wattline:revoked', 'leaked')) === '1');
});

test.runIf(isSoak)(
  'Redis gets the revocations back after it has lost them, and new processes learn them',
  async () => {
    const { start, issue, admin } = await setUp();
    const one = await start('one');
    const [first, second] = [await issue(), await issue()];
    await ask(one.child, { revoke: first.tokenId });
    await ask(one.child, { revoke: second.tokenId });
    await until('Redis has both', async () => (await admin.hlen('wattline:revoked')) === 2);
    await admin.flushall();
    // No news tells that data is lost.
    await until('Redis has both again', async () => (await admin.hlen('wattline:revoked')) === 2);
    const later = await start('later');
    expect(await ask(later.child, { token: first.token })).toBe(refused);
    expect(await ask(later.child, { token: second.token })).toBe(refused);
  },
);

test('what is revoked while Redis is away counts in its own folder at once, and in the others when Redis is back', async () => {
  const { start, server, issue } = await setUp();
  const [one, other] = [await start('one'), await start('other')];
  const [before, meanwhile] = [await issue(), await issue()];
  await ask(one.child, { revoke: before.tokenId });
  await untilRefused(other.child, before.token);
  await server.restart({
    whileDown: async () => {
      await ask(one.child, { revoke: meanwhile.tokenId });
      expect(await ask(one.child, { token: meanwhile.token })).toBe(refused);
      expect(await ask(other.child, { token: meanwhile.token })).toBe('accepted');
      expect(await ask(other.child, { token: before.token })).toBe(refused);
    },
  });
  await untilRefused(other.child, meanwhile.token);
});

test('values in Redis that are no revocations change nothing', async () => {
  const { start, issue, admin } = await setUp();
  await admin.hset('wattline:revoked', { 'not a time': 'soon', ['x'.repeat(5_000)]: '1' });
  const one = await start('one');
  const { token, tokenId } = await issue();
  expect(await ask(one.child, { token })).toBe('accepted');
  await ask(one.child, { revoke: tokenId });
  await until('Redis has it too', async () => (await admin.hlen('wattline:revoked')) === 3);
});
