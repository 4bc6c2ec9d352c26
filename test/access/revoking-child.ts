// A process with a data folder of its own that shares revocations. It answers if a token is accepted, and
// revokes a token on request.

import { createAccess } from '../../src/access/access.ts';
import { shareRevocations } from '../../src/access/shared-revocations.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';

const [dataDir, jwksFile, url] = process.argv.slice(2) as [string, string, string];
const access = await createAccess({ dataDir, jwksFile, issuer: 'wattline', clock: systemClock });
const redis = await openRedisConnection({ url, logger: silentLogger });
await shareRevocations({ dataDir, redis, startTimer: startSystemTimer, logger: silentLogger });
process.on('message', async (asked: { token: string } | { revoke: string }) => {
  if ('revoke' in asked) return process.send!(access.revoke(asked.revoke));
  const outcome = await access.authenticate(asked.token).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
  return process.send!(outcome);
});
process.send!('ready');
