import { createAccess } from '../access/access.ts';
import { createAccessAudit } from '../access/access-audit.ts';
import { shareRevocations } from '../access/shared-revocations.ts';
import { syncRevocations } from '../access/store-revocations.ts';
import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import type { Config } from '../config/config.ts';
import { createWorkgroups } from '../config/workgroups.ts';
import { startSystemTimer } from '../lib/timer.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { repeatRequests } from '../storage/repeat-requests.ts';
import { serviceStore } from '../storage/workgroup-store.ts';
import { auditConfigChanges } from './audit-config-changes.ts';
import { createBucketProbe } from './bucket-probe.ts';
import { type CommitNews, openCommitNews } from './commit-news.ts';
import { drainAudit } from './drain-audit.ts';
import type { Role } from './hold-roles.ts';
import { type BucketLake, openBucketLake } from './open-bucket-lake.ts';
import { openControl, openQueueRedis } from './open-control.ts';
import type { Service } from './service.ts';

type Stops = Array<() => Promise<void>>;

/**
 * Opens what all roles use: the audit log, the workgroups, tokens and their revocations, and the requests to
 * workers.
 * @param stops gets what stops each part, in the order of the start
 * @throws the reason why a part cannot be used. What was opened before is in `stops`
 */
export async function openSharedParts(
  config: Config,
  roles: readonly Role[],
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
  stops: Stops,
) {
  const { dataDir } = config;
  const audit = createAudit({ dataDir, actor: localActor(), clock });
  auditConfigChanges(config, roles, audit);
  const workgroups = createWorkgroups(config);
  // Stopped after the other parts, because they record entries until they end.
  const stopDraining = roles.includes('stream')
    ? undefined
    : await drainAudit(config, workgroups, { logger, clock });
  if (stopDraining) stops.push(stopDraining);
  const accessAudit = createAccessAudit({ dataDir, audit, clock, startTimer: startSystemTimer, logger });
  stops.push(async () => accessAudit.close());
  // All roles use this connection to the queue's Redis.
  const redis = config.queue.backend === 'redis' ? await openQueueRedis(config, logger) : undefined;
  if (redis) stops.push(async () => redis.close());
  const access = await createAccess({ dataDir, ...config.access, clock, audit });
  if (redis) stops.push(await shareRevocations({ dataDir, redis, startTimer: startSystemTimer, logger }));
  const place = serviceStore(config.storage);
  const store = place && repeatRequests(place);
  const probe = createBucketProbe(store, logger);
  if (store) {
    // At the same time, because each waits for a bucket that does not answer.
    const [probed, stored] = await Promise.allSettled([
      roles.includes('worker') && probe.atStart(),
      syncRevocations({ dataDir, store, clock, startTimer: startSystemTimer, logger }),
    ]);
    if (stored.status === 'fulfilled') stops.push(stored.value);
    // The probe knows why a bucket is unsuitable.
    for (const outcome of [probed, stored]) if (outcome.status === 'rejected') throw outcome.reason;
  }
  const control = openControl(config, { logger }, redis);
  return { audit, workgroups, accessAudit, access, redis, probe, control };
}

/**
 * Opens the lakes of the bucket, which reports and exports share, and the news of its commits. Both are
 * undefined without a bucket.
 */
export async function openSharedLakes(
  config: Config,
  roles: readonly Role[],
  options: Pick<Service, 'logger' | 'clock'> & { redis: RedisConnection | undefined },
  stops: Stops,
): Promise<{ commits: CommitNews | undefined; bucket: BucketLake | undefined }> {
  const { redis, logger, clock } = options;
  const commits = config.storage.s3 && (await openCommitNews({ redis, logger }));
  if (commits) stops.push(commits.close);
  const readsLakes = roles.includes('report') || roles.includes('worker');
  const bucket = readsLakes ? await openBucketLake(config, { clock }) : undefined;
  if (bucket) {
    stops.push(bucket.close);
    commits?.onCommit(bucket.noteCommit);
  }
  return { commits, bucket };
}
