import type { Access } from '../access/access.ts';
import type { Config } from '../config/config.ts';
import { configWarnings } from '../config/config-warnings.ts';
import { allowOrigins } from '../http/allow-origins.ts';
import { compressAnswers } from '../http/compress-answers.ts';
import { type Health, registerHealth } from '../http/health-routes.ts';
import { createHttpServer } from '../http/http-server.ts';
import { localUrl } from '../http/local-url.ts';
import type { InputState } from '../inputs/input-counter.ts';
import { programVersion } from '../lib/program-version.ts';
import { SECOND_MS } from '../lib/time.ts';
import { registerMetricsRoute } from '../metrics/metrics-route.ts';
import { createServiceMetrics } from '../metrics/service-metrics.ts';
import { registerOpenApi } from '../report/openapi.ts';
import { pageFolder, registerPage } from '../report/page-routes.ts';
import { addReport } from './add-report.ts';
import { addStream } from './add-stream.ts';
import { addWorker, type WorkerRole } from './add-worker.ts';
import { holdRoles, type Role, readersWarning } from './hold-roles.ts';
import { listenAt } from './listen-at.ts';
import { openMetricsPort } from './open-metrics-port.ts';
import { openSharedLakes, openSharedParts } from './open-shared-parts.ts';
import { acceptReloads } from './reload-config.ts';
import { requireSharedStorage, sharingWarnings } from './require-shared-storage.ts';
import { requireStream } from './require-stream.ts';
import type { RoleParts } from './role-parts.ts';
import type { Service } from './service.ts';
import { startWhenReachable } from './start-when-reachable.ts';
import { openStreamNews, type StreamNews } from './stream-news.ts';
import { workLiveness, workReadiness, workStateOf } from './worker-readiness.ts';
import { watchWorkElsewhere } from './worker-readiness-elsewhere.ts';

/** Running roles, and their address. */
export interface Running {
  /** The address before `/api/v1/...`. Undefined if only the worker runs. */
  url: string | undefined;
  /** The address of the metrics, if they have a port of their own. */
  metricsUrl: string | undefined;
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
    const shared = await openSharedParts(config, roles, { logger, clock }, stops);
    const { audit, workgroups, accessAudit, access, redis, probe, control } = shared;
    let url: string | undefined;
    let inputStates: () => InputState[] = () => [];
    const current = { urlNow: () => url, inputsNow: () => inputStates() };
    // All parts follow changes, so a reload can come while they start.
    stops.push(await acceptReloads({ ...service, config, roles, workgroups, audit, ...current }));
    const { commits, bucket } = await openSharedLakes(config, roles, { redis, logger, clock }, stops);
    const parts = { access, accessAudit, audit, workgroups, control, bucket, logger, clock };
    const metrics = createServiceMetrics({
      version: programVersion,
      roles,
      dataDir: config.dataDir,
      retentionMs: config.stream.retention,
      workgroups,
      clock,
    });
    const metricsPort = await openMetricsPort(config, { access, registry: metrics.registry, logger, clock });
    if (metricsPort) stops.push(metricsPort.close);
    let worker: WorkerRole | undefined;
    let news: StreamNews | undefined;
    commits?.onCommit((workgroupId, sequence) => worker?.noteCommit(workgroupId, sequence));
    if (roles.includes('stream') || roles.includes('report')) {
      const { app, health } = await createServiceApp(config, roles, parts, metrics);
      addWorkHealth(health, config, roles, parts, () => worker);
      if (roles.includes('stream')) {
        const stream = await addStream(app, health, config, parts);
        stops.push(stream.stop);
        news = stream.news;
        inputStates = stream.view.inputs;
        metrics.watchStream(stream.view);
      }
      const ownUrl = () => (roles.includes('stream') ? url : undefined);
      if (roles.includes('report')) stops.push(await addReport(app, health, config, { ...parts, ownUrl }));
      stops.push(() => app.close());
      const settings = { address: '--host and --port', port: '--port' };
      url = await listenAt(app, config.http, settings);
    }
    if (roles.includes('worker')) {
      const ownUrl = roles.includes('stream') ? url! : localUrl(config.http.host, config.http.streamPort);
      if (!roles.includes('stream')) {
        await requireStream(config, workgroups, ownUrl);
        news = await openStreamNews(config, { logger });
      }
      if (news) stops.push(async () => news?.close());
      const { events, watch } = metrics.addWorker();
      worker = await addWorker(config, ownUrl, {
        ...parts,
        events,
        audit,
        news,
        redis,
        probe,
        ...(commits && { onCommitted: commits.publish }),
      });
      stops.push(worker.stop);
      watch(worker.view);
    }
    return { url, metricsUrl: metricsPort?.url, access, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates the HTTP server of this process, with what all roles need. */
async function createServiceApp(
  config: Config,
  roles: readonly Role[],
  { access, accessAudit, workgroups, logger, clock }: RoleParts,
  metrics: ReturnType<typeof createServiceMetrics>,
) {
  const app = createHttpServer({
    logger,
    clock,
    access,
    requestsPerMinuteMax: config.limits.requestsPerMinute,
    connectionsMax: config.limits.connectionsPerProcess + OTHER_CONNECTIONS_MAX,
  });
  metrics.watchHttp(app);
  await allowOrigins(app, config.http.corsOrigins);
  await compressAnswers(app);
  registerOpenApi(app, { version: programVersion });
  await registerPage(app, roles.includes('report') ? pageFolder() : undefined);
  const health = registerHealth(app);
  registerMetricsRoute(app, metrics.registry, { audit: accessAudit, workgroups });
  return { app, health };
}

/** Adds the work of a worker to the health endpoints: the one of this process, or else another one. */
function addWorkHealth(
  health: Health,
  config: Config,
  roles: readonly Role[],
  { workgroups, control, clock }: Pick<RoleParts, 'workgroups' | 'control' | 'clock'>,
  workerNow: () => WorkerRole | undefined,
): void {
  if (roles.includes('worker')) {
    const workNow = () => {
      const ids = workgroups.list().map(({ id }) => id);
      return workStateOf(workerNow()?.health(), ids, clock.now());
    };
    health.addReadiness('worker', (asker) => workReadiness(workNow(), asker));
    health.addLiveness('worker', (asker) =>
      workLiveness(workNow(), workerNow()?.health().live ?? true, asker),
    );
  } else if (roles.includes('report')) {
    const elsewhere = watchWorkElsewhere(config, workgroups, control, clock);
    health.addReadiness('worker', async (asker) => workReadiness(await elsewhere(), asker));
  }
}

/** Runs the roles until the process must end. */
export async function runRoles(config: Config, roles: readonly Role[], service: Service): Promise<void> {
  const { terminal, logger } = service;
  const slow = setTimeout(() => {
    if (terminal.isInteractive)
      terminal.err('wattline: starting; this takes some seconds with a new data folder\n');
  }, SLOW_START_MS);
  const running = await startWhenReachable(() => startRoles(config, roles, service), service).finally(() =>
    clearTimeout(slow),
  );
  if (!running) return;
  for (const { path, message } of [...configWarnings(config), ...sharingWarnings(config, roles)])
    logger.warn({ path, message }, 'config.warning');
  if (running.url && !service.signal.aborted)
    terminal.err(`wattline: ${roles.join(', ')} at ${running.url} (API: ${running.url}/docs)\n`);
  if (running.metricsUrl && !service.signal.aborted)
    terminal.err(`wattline: metrics at ${running.metricsUrl}\n`);
  if (!service.signal.aborted) {
    await new Promise((resolve) => service.signal.addEventListener('abort', resolve, { once: true }));
  }
  await running.stop();
}
