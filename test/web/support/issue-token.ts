import { createAccess } from '../../../src/access/access.ts';
import { configSchema } from '../../../src/config/config.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { served } from './open-page.ts';

type Scopes = Parameters<Awaited<ReturnType<typeof createAccess>>['issue']>[0]['scopes'];

/**
 * A token for an hour, and a way to revoke it.
 * @param options.dataDir another service than that of the tests, which does not know the token
 * @param options.agoMs how long ago it was issued
 */
export async function issueToken(scopes: Scopes, options: { dataDir?: string; agoMs?: number } = {}) {
  const { dataDir = served().dataDir, agoMs = 0 } = options;
  const clock = { ...systemClock, now: () => systemClock.now() - agoMs };
  const access = await createAccess({ dataDir, ...configSchema.parse({}).access, clock });
  const issued = await access.issue({ subject: 'anna', scopes, lifetimeMs: 3_600_000 });
  return { ...issued, revoke: () => access.revoke(issued.tokenId) };
}
