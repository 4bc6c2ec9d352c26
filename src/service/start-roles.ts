import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Access, createAccess } from '../access/access.ts';
import { type AccessAudit, createAccessAudit } from '../access/access-audit.ts';
import { shareRevocations } from '../access/shared-revocations.ts';
import { storeRevocations } from '../access/store-revocations.ts';
import { type Audit, createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import { configWarnings } from '../config/config-warnings.ts';
import { createWorkgroups, type Workgroups } from '../config/workgroups.ts';
import { registerCorrectionRoutes } from '../correction/correction-routes.ts';
import { type Health, registerHealth } from '../http/health-routes.ts';
import { createHttpServer } from '../http/http-server.ts';
import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { programVersion } from '../lib/program-version.ts';
import { SECOND_MS } from '../lib/time.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { lakeFolder } from '../pipeline/assignment.ts';
import { hasPublished } from '../pipeline/has-published.ts';
import { openLakeReader } from '../report/lake-reader.ts';
import { lakeReadiness } from '../report/lake-readiness.ts';
import { registerOpenApi } from '../report/openapi.ts';
import { pageFolder, registerPage } from '../report/page-routes.ts';
import { registerReportRoutes } from '../report/report-routes.ts';
import { serviceStore } from '../storage/workgroup-store.ts';
import { startBackgroundTasks } from '../stream/background-tasks.ts';
import { registerStreamRoutes } from '../stream/rest/stream-routes.ts';
import { registerStreamSocket } from '../stream/socket/stream-socket.ts';
import { createStream } from '../stream/stream.ts';
import { registerUploadRoutes } from '../upload/upload-routes.ts';
import { addOperate } from './add-operate.ts';
import { addWorker, type WorkerRole } from './add-worker.ts';
import { auditConfigChanges } from './audit-config-changes.ts';
import { claimTasks } from './claim-tasks.ts';
import { openCommitNews } from './commit-news.ts';
import { holdRoles, type Role, readersWarning } from './hold-roles.ts';
import { type BucketLake, openBucketLake } from './open-bucket-lake.ts';
import { type OpenControl, openControl, openQueueRedis } from './open-control.ts';
import { openStreamLogs } from './open-stream-logs.ts';
import { acceptReloads } from './reload-config.ts';
import { requireSharedStorage, sharingWarnings } from './require-shared-storage.ts';
import type { Service } from './service.ts';
import { newsOfStream, openStreamNews, type StreamNews } from './stream-news.ts';
import { localUrl } from './upstreams.ts';
import { watchWorkElsewhere } from './work-elsewhere.ts';
import { workLiveness, workOf, workReadiness } from './work-state.ts';

/** Running roles, and their address. */
export interface Running {
  /** The address before `/api/v1/...`. Undefined if only the worker runs. */
  url: string | undefined;
  access: Access;
  /** Stops accepting work, finishes started work, and stops everything, within 20 s. */
  stop(): Promise<void>;
}

/** Connections for requests, in addition to connections of socket.io. */
const OTHER_CONNECTIONS_MAX = 2_000;
/** A note is printed if the start takes longer. */
const SLOW_START_MS = 1.5 * SECOND_MS;

/** Starts the roles in this process. All HTTP roles share one port. */
export async function startRoles(
  config: Config,
  roles: readonly Role[],
  service: Pick<Service, 'logger' | 'clock'> & Partial<Pick<Service, 'configSource' | 'terminal'>>,
): Promise<Running> {
  const { logger, clock } = service;
  requireSharedStorage(config, roles);
  const stops: Array<() => Promise<void>> = [await holdRoles(config, roles, clock)];
  const tooOpen = readersWarning(config);
  if (tooOpen) logger.warn(tooOpen, 'config.warning');
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    const audit = createAudit({ dataDir: config.dataDir, actor: localActor(), clock });
    auditConfigChanges(config, roles, audit);
    const accessAudit = createAccessAudit({
      dataDir: config.dataDir,
      audit,
      clock,
      startTimer: startSystemTimer,
      logger,
    });
    stops.push(async () => accessAudit.close());
    // All roles use this connection to the queue's Redis.
    const redis = config.queue.backend === 'redis' ? await openQueueRedis(config, logger) : undefined;
    if (redis) stops.push(async () => redis.close());
    const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock, audit });
    if (redis)
      stops.push(
        await shareRevocations({ dataDir: config.dataDir, redis, startTimer: startSystemTimer, logger }),
      );
    const shared = serviceStore(config.storage);
    if (shared) {
      const { dataDir } = config;
      stops.push(await storeRevocations({ dataDir, store: shared, startTimer: startSystemTimer, logger }));
    }
    const control = openControl(config, { logger }, redis);
    const workgroups = createWorkgroups(config);
    let url: string | undefined;
    // All parts follow changes, so a reload can come while they start.
    stops.push(await acceptReloads({ ...service, config, roles, workgroups, audit, urlNow: () => url }));
    const commits = config.storage.s3 && (await openCommitNews({ redis, logger }));
    if (commits) stops.push(commits.close);
    // Reports and exports share one cache.
    const readsLakes = roles.includes('report') || roles.includes('worker');
    const bucket = readsLakes ? await openBucketLake(config, { clock }) : undefined;
    if (bucket) {
      stops.push(bucket.close);
      commits?.onCommit(bucket.noteCommit);
    }
    const parts = { access, accessAudit, audit, workgroups, control, bucket, logger, clock };
    const idsNow = () => workgroups.list().map(({ id }) => id);
    let worker: WorkerRole | undefined;
    let news: StreamNews | undefined;
    const work = () => workOf(worker?.health(), idsNow(), clock.now());
    if (roles.includes('stream') || roles.includes('report')) {
      const app = createHttpServer({
        logger,
        clock,
        access,
        requestsPerMinuteMax: config.limits.requestsPerMinute,
        connectionsMax: config.limits.connectionsPerProcess + OTHER_CONNECTIONS_MAX,
      });
      await registerOpenApi(app, { version: programVersion });
      await registerPage(app, roles.includes('report') ? pageFolder() : undefined);
      const health = registerHealth(app);
      if (roles.includes('worker')) {
        health.addReadiness('worker', (asker) => workReadiness(work(), asker));
        health.addLiveness('worker', (asker) => workLiveness(work(), worker?.health().live ?? true, asker));
      } else if (roles.includes('report')) {
        const elsewhere = watchWorkElsewhere(config, workgroups, control, clock);
        health.addReadiness('worker', async (asker) => workReadiness(await elsewhere(), asker));
      }
      if (roles.includes('stream')) {
        const stream = await addStream(app, health, config, parts);
        stops.push(stream.stop);
        news = stream.news;
      }
      const ownUrl = () => (roles.includes('stream') ? url : undefined);
      if (roles.includes('report')) stops.push(await addReport(app, health, config, { ...parts, ownUrl }));
      stops.push(() => app.close());
      url = await listen(app, config);
    }
    if (roles.includes('worker')) {
      const ownUrl = roles.includes('stream') ? url! : localUrl(config.http.host, config.http.streamPort);
      if (!roles.includes('stream')) news = await openStreamNews(config, { logger });
      if (news) stops.push(async () => news?.close());
      worker = await addWorker(config, ownUrl, {
        ...parts,
        audit,
        news,
        redis,
      });
      stops.push(worker.stop);
    }
    return { url, access, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs the roles until the process must end. */
export async function runRoles(config: Config, roles: readonly Role[], service: Service): Promise<void> {
  const { terminal, logger } = service;
  const slow = setTimeout(() => {
    if (terminal.isInteractive)
      terminal.err('wattline: starting; this takes some seconds with a new data folder\n');
  }, SLOW_START_MS);
  const running = await startRoles(config, roles, service).finally(() => clearTimeout(slow));
  for (const { path, message } of [...configWarnings(config), ...sharingWarnings(config, roles)])
    logger.warn({ path, message }, 'config.warning');
  if (running.url && !service.signal.aborted)
    terminal.err(`wattline: ${roles.join(', ')} at ${running.url} (API: ${running.url}/docs)\n`);
  if (!service.signal.aborted) {
    await new Promise((resolve) => service.signal.addEventListener('abort', resolve, { once: true }));
  }
  await running.stop();
}

type Parts = Pick<Service, 'logger' | 'clock'> & {
  access: Access;
  accessAudit: AccessAudit;
  audit: Audit;
  workgroups: Workgroups;
  control: OpenControl;
  /** Undefined if no bucket is configured. */
  bucket: BucketLake | undefined;
};

async function addStream(
  app: FastifyInstance,
  health: Health,
  config: Config,
  { access, accessAudit: audit, workgroups, logger, clock }: Omit<Parts, 'audit'>,
): Promise<{ stop: () => Promise<void>; news: StreamNews }> {
  const { retention: retentionMs } = config.stream;
  const logs = await openStreamLogs(config, { logger, clock });
  if (logs.readiness) health.addReadiness('stream', logs.readiness);
  const stream = createStream({
    openLog: logs.openLog,
    readHead: logs.readHead,
    isShared: logs.redis !== undefined,
    retentionMs,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  const groupsOf = (workgroupId: string) => workgroups.get(workgroupId)?.deviceGroups;
  const stopFollowing = workgroups.onChange(({ removed }) => {
    for (const { id } of removed) void stream.closeLog(id);
  });
  registerStreamRoutes(app, { stream, access, groupsOf, audit, readHoldMsMax: config.limits.readHold });
  registerStreamSocket(app, {
    stream,
    access,
    groupsOf,
    audit,
    retentionMs,
    requestsPerMinuteMax: config.limits.requestsPerMinute,
    limits: {
      socketsPerTokenMax: config.limits.connectionsPerToken,
      socketsPerWorkgroupMax: config.limits.connectionsPerWorkgroup,
      socketsMax: config.limits.connectionsPerProcess,
      socketsWaitingPerAddressMax: config.limits.connectionsPerAddress,
      authenticationMsMax: config.limits.authenticationTimeout,
    },
    path: config.stream.socketPath,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  const upkeep = startBackgroundTasks({
    stream,
    workgroups: () =>
      workgroups.list().map((workgroup) => ({
        id: workgroup.id,
        deviceTimeoutMs: deviceTimeoutMs(config, workgroup),
      })),
    devicesWatchedMax: config.limits.watchedDevicesPerWorkgroup,
    dataDir: config.dataDir,
    ...claimTasks(config, logs.redis, { logger, clock }),
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  app.addHook('preClose', async () => stream.drain());
  const stop = async () => {
    stopFollowing();
    // The last entries still go into the log.
    audit.close();
    await upkeep.stop();
    await stream.close();
    logs.close();
  };
  return { stop, news: await newsOfStream(stream, logs.redis) };
}

/** A workgroup with an upstream receives nothing here, so no device can be silent. */
function deviceTimeoutMs(
  { stream }: Config,
  { deviceTimeout, upstream }: WorkgroupConfig,
): number | undefined {
  const timeout = deviceTimeout ?? stream.deviceTimeout;
  return upstream || timeout === 'off' ? undefined : timeout;
}

async function addReport(
  app: FastifyInstance,
  health: Health,
  config: Config,
  parts: Parts & { ownUrl: () => string | undefined },
): Promise<() => Promise<void>> {
  const { accessAudit: audit, workgroups, control, bucket, logger, clock } = parts;
  const lake = await openLakeReader({
    ...(bucket
      ? { source: bucket.source }
      : {
          lakeDir: lakeFolder(config),
          hasPublished: (workgroupId) => hasPublished(config.dataDir, workgroupId),
        }),
    threads: config.pipeline.threads,
  });
  registerReportRoutes(app, {
    lake,
    explain: (workgroupId, args, signal) => control.ask(workgroupId, 'explain', args, { signal }),
    audit,
    workgroups,
    clock,
    logger,
  });
  registerCorrectionRoutes(app, {
    correct: (workgroupId, args) => control.ask(workgroupId, 'correct', args),
    list: (workgroupId, query) => control.ask(workgroupId, 'corrections', query),
    audit,
    workgroups,
  });
  registerUploadRoutes(app, {
    take: (workgroupId, request) => control.ask(workgroupId, 'upload', request),
    dataDir: config.dataDir,
    audit,
    workgroups,
    clock,
    logger,
  });
  /** A look at each workgroup of the bucket would be a request each. */
  const idsHere = () => {
    const ids = workgroups.list().map(({ id }) => id);
    return bucket ? ids.filter(bucket.isHere) : ids;
  };
  health.addReadiness('lake', (asker) => lakeReadiness(lake, idsHere(), clock.now(), asker));
  if (bucket)
    health.addReadiness('bucket', (asker) =>
      idsHere().length < workgroups.list().length ? bucket.readiness(asker) : { ok: true },
    );
  const stopOperate = addOperate(app, config, { ...parts, lake });
  return async () => {
    await stopOperate();
    await lake.close();
  };
}

async function listen(app: FastifyInstance, config: Config): Promise<string> {
  const { host, port } = config.http;
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE')
      throw new TerminalError(
        'CannotListen',
        `port ${port} of ${host} cannot be used (${code ?? errorMessage(error)}); choose another address with --host and --port`,
        { cause: error },
      );
    throw new TransientError(
      'PortTaken',
      `port ${port} of ${host} is already used; stop the other program, or choose another port with --port`,
      { cause: error },
    );
  }
  return localUrl(config.http.host, (app.server.address() as AddressInfo).port);
}
