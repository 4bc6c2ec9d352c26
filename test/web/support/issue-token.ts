import { createAccess } from '../../../src/access/access.ts';
import { configSchema } from '../../../src/config/config.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { served } from './open-page.ts';

type Scopes = Parameters<Awaited<ReturnType<typeof createAccess>>['issue']>[0]['scopes'];

/** A token for the service of the tests, and a way to revoke it. */
export async function issueToken(scopes: Scopes) {
  const { dataDir } = served();
  const access = await createAccess({ dataDir, ...configSchema.parse({}).access, clock: systemClock });
  const issued = await access.issue({ subject: 'anna', scopes, lifetimeMs: 3_600_000 });
  return { ...issued, revoke: () => access.revoke(issued.tokenId) };
}
