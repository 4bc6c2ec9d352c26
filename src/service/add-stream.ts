import type { FastifyInstance } from 'fastify';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import type { Health } from '../http/health-routes.ts';
import { createInputs } from '../inputs/inputs.ts';
import { registerLineRoutes } from '../inputs/line-routes.ts';
import { startSystemTimer } from '../lib/timer.ts';
import type { StreamView } from '../metrics/stream-metrics.ts';
import { startBackgroundTasks } from '../stream/background-tasks.ts';
import { registerStreamRoutes } from '../stream/rest/stream-routes.ts';
import { registerStreamSocket } from '../stream/socket/stream-socket.ts';
import { createStream } from '../stream/stream.ts';
import { claimTasks } from './claim-tasks.ts';
import { inputsState } from './inputs-state.ts';
import { openStreamLogs } from './open-stream-logs.ts';
import type { RoleParts } from './role-parts.ts';
import { newsOfStream, type StreamNews } from './stream-news.ts';

/** Adds the stream to a server: its logs, routes, sockets, inputs and background tasks. */
export async function addStream(
  app: FastifyInstance,
  health: Health,
  config: Config,
  {
    access,
    accessAudit: audit,
    workgroups,
    logger,
    clock,
  }: Pick<RoleParts, 'access' | 'accessAudit' | 'workgroups' | 'logger' | 'clock'>,
): Promise<{
  stop: () => Promise<void>;
  news: StreamNews;
  view: StreamView;
}> {
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
  const socket = registerStreamSocket(app, {
    stream,
    access,
    groupsOf,
    audit,
    retentionMs,
    requestsPerMinuteMax: config.limits.requestsPerMinute,
    limits: {
      connectionsPerTokenMax: config.limits.connectionsPerToken,
      connectionsPerWorkgroupMax: config.limits.connectionsPerWorkgroup,
      socketsMax: config.limits.connectionsPerProcess,
      socketsWaitingPerAddressMax: config.limits.connectionsPerAddress,
      authenticationMs: config.limits.authenticationTimeout,
    },
    path: config.stream.socketPath,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  const { inputsLease, ...leases } = claimTasks(config, logs.redis, { logger, clock });
  const inputs = createInputs({
    stream,
    workgroups,
    lease: inputsLease,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  // A broker that is away does not change readiness: requests need not go elsewhere, and a restart does not
  // help.
  for (const add of [health.addReadiness, health.addLiveness])
    add('inputs', ({ maySeeNames }) => inputsState(inputs.states(), clock.now(), maySeeNames));
  registerLineRoutes(app, { stream, groupsOf, audit, inputs, clock, logger });
  const tasks = startBackgroundTasks({
    stream,
    workgroups: () =>
      workgroups.list().map((workgroup) => ({
        id: workgroup.id,
        deviceTimeoutMs: deviceTimeoutMs(config, workgroup),
      })),
    devicesWatchedMax: config.limits.watchedDevicesPerWorkgroup,
    dataDir: config.dataDir,
    ...leases,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  app.addHook('preClose', async () => stream.drain());
  const stop = async () => {
    stopFollowing();
    await inputs.stop();
    // The last entries still go into the log.
    audit.close();
    await tasks.stop();
    await stream.close();
    logs.close();
  };
  const view = { counts: stream.counts, subscriptions: socket.subscriptions, inputs: inputs.states };
  return { stop, news: await newsOfStream(stream, logs.redis), view };
}

/** A workgroup with an upstream receives nothing here, so no device can be silent. */
function deviceTimeoutMs(
  { stream }: Config,
  { deviceTimeout, upstream }: WorkgroupConfig,
): number | undefined {
  const timeout = deviceTimeout ?? stream.deviceTimeout;
  return upstream || timeout === 'off' ? undefined : timeout;
}
