import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { ensureKeys } from '../../src/access/keys.ts';
import { shareRevocations, tellRevocation } from '../../src/access/shared-revocations.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

// shared-revocations.test.ts has the same for processes, which share what their folders have.

test('a token that a command revokes is refused by other data folders, although no process runs on its own', async () => {
  const folder = tempDir();
  const jwksFile = join(folder, 'keys.json');
  await ensureKeys(jwksFile);
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
  onTestFinished(() => redis.close());
  /** A data folder that shares revocations. Its clock stands, so it learns them by news and at its start. */
  const open = async (name: string) => {
    const dataDir = join(folder, name);
    const access = await createAccess({ dataDir, jwksFile, issuer: 'wattline', clock: systemClock });
    const { startTimer } = createTestClock();
    onTestFinished(await shareRevocations({ dataDir, redis, startTimer, logger: silentLogger }));
    return (token: string) =>
      access.authenticate(token).then(
        () => 'accepted',
        (error: Error) => error.message,
      );
  };
  const dataDir = join(folder, 'own');
  const own = await createAccess({ dataDir, jwksFile, issuer: 'wattline', clock: systemClock });
  const issue = () =>
    own.issue({
      subject: 'dashboard',
      scopes: { acme: { permissions: ['search:read'] } },
      lifetimeMs: 60_000,
    });
  const [kept, revoked] = [await issue(), await issue()];
  const running = await open('running');
  expect(await running(revoked.token)).toBe('accepted');

  await tellRevocation(redis, revoked.tokenId, systemClock.now());
  await until(
    'the token is refused',
    async () => (await running(revoked.token)) === 'the token is not valid',
  );
  const later = await open('later');
  expect(await later(revoked.token)).toBe('the token is not valid');
  expect([await running(kept.token), await later(kept.token)]).toEqual(['accepted', 'accepted']);
});
