import { statfs } from 'node:fs/promises';
import type { WorkerHealth } from '../../jobs/worker-health.ts';
import { isBehind } from '../../jobs/worker-troubles.ts';
import { alertStore, openAlertBook } from '../alerts/alert-book.ts';
import type { AlertFacts } from '../alerts/alert-facts.ts';
import { readBudgets } from '../alerts/read-budgets.ts';
import type { WarehouseFacts } from '../alerts/read-warehouse-facts.ts';
import { createSendAlert } from '../alerts/send-alert.ts';
import { createSilenceWatch } from '../alerts/silence-watch.ts';
import { type Alerts, startAlerts } from '../alerts/start-alerts.ts';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { Exports } from '../exports/create-exports.ts';
import { elapsedOf, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { withLag } from '../operate/with-lag.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import type { LakeReader } from '../report/lake-reader.ts';
import { askProcesses } from '../worker-rpc/process-rpc.ts';
import type { Service } from './service.ts';

/** What alerts read of a worker. */
export interface AlertSources extends Pick<Service, 'logger' | 'clock'> {
  config: Config;
  workgroups: Workgroups;
  /** See `RunningWorker.holds`. */
  holds(workgroupId: string): boolean;
  health(): WorkerHealth;
  statusOf(workgroupId: string): WorkgroupStatus;
  pipeline: Pick<Pipeline, 'run'>;
  exportStates(): ReturnType<Exports['states']>;
  /** Opened only for workgroups with budgets. */
  lakeOf(): Promise<LakeReader>;
}

/** A warehouse that is busy with a roll-up answers later. The facts are unknown then. */
const FACTS_MS_MAX = 20 * SECOND_MS;
const BUDGETS_EVERY_MS = 15 * MINUTE_MS;

/** Starts the alerts of the workgroups that the worker of this process owns. Without channels it does nothing. */
export function openAlerts(sources: AlertSources): Alerts {
  const { config, workgroups, clock, logger } = sources;
  return startAlerts({
    settings: config.alerts,
    workgroups,
    send: createSendAlert(config.mail),
    startTimer: startSystemTimer,
    clock,
    logger,
    open: (workgroupId) => ({
      book: openAlertBook(alertStore(config, workgroupId)),
      isOwner: () => sources.holds(workgroupId),
      readFacts: createFactsReader(sources, workgroupId),
    }),
  });
}

function createFactsReader(sources: AlertSources, workgroupId: string): () => Promise<AlertFacts> {
  const { config, workgroups, clock, pipeline } = sources;
  const silences = createSilenceWatch(clock);
  let days: { token: string; facts: WarehouseFacts['days'] } | undefined;
  let budgets: { token: string; facts: AlertFacts['budgets'] } | undefined;

  async function readWarehouse(): Promise<WarehouseFacts | undefined> {
    const asked = pipeline.run(workgroupId, 'alertFacts', { known: days?.token });
    const facts = await withTimeout(asked, FACTS_MS_MAX).catch(() => undefined);
    if (facts === undefined || facts === 'late') return undefined;
    if (facts.days) days = { token: facts.daysToken, facts: facts.days };
    return facts;
  }

  /** Read every quarter of an hour, because the days of a month change seldom. */
  async function budgetsOf(
    warehouse: WarehouseFacts | undefined,
    nowMs: UtcMs,
  ): Promise<AlertFacts['budgets']> {
    const workgroup = workgroups.get(workgroupId);
    if (!warehouse || !workgroup || config.alerts.conditions.budget === 'off') return undefined;
    if (!warehouse.hasBudgets) return [];
    const token = String(Math.floor(elapsedOf(clock) / BUDGETS_EVERY_MS));
    if (budgets?.token !== token) {
      const facts = await readBudgets(await sources.lakeOf(), workgroup, nowMs).catch(() => undefined);
      budgets = { token, facts };
    }
    return budgets.facts;
  }

  return async () => {
    const nowMs = clock.now();
    const shard = sources.health().shards.find((one) => one.workgroupId === workgroupId);
    const isOpen = shard?.state === 'owned';
    const status = isOpen ? sources.statusOf(workgroupId) : undefined;
    const warehouse = isOpen ? await readWarehouse() : undefined;
    const names = new Map(workgroups.get(workgroupId)?.devices.map(({ id, name }) => [id, name]));
    // States of devices are written by a publication. Until everything is read and published, a silent device is not known.
    const hasAll = status?.poll.upToDate === true && status.publish.lastError === undefined;
    const seen = warehouse && silences.look(warehouse.devices);
    return {
      nowMs,
      retentionMs: config.stream.retention,
      nameOf: (device) => names.get(device) ?? device,
      stages: shard && stagesOf(shard, nowMs),
      lagMs: lagOf(status, nowMs),
      gaps: warehouse?.gaps,
      lastHour: warehouse?.lastHour,
      silences: hasAll ? seen : undefined,
      ...(warehouse && days?.facts),
      exports: isOpen ? exportsOf(sources, workgroupId) : undefined,
      budgets: await budgetsOf(warehouse, nowMs),
      disk: await diskOf(config.dataDir),
      inputs: await inputsOf(sources, workgroupId, nowMs),
    };
  };
}

function stagesOf(
  { failingSinceMs, error, stages }: WorkerHealth['shards'][number],
  nowMs: UtcMs,
): NonNullable<AlertFacts['stages']> {
  const open =
    failingSinceMs === null
      ? []
      : [{ stage: 'open', failingMs: nowMs - failingSinceMs, why: `the data cannot be opened: ${error}` }];
  const late = stages
    .filter((one) => one.state === 'stuck' || (one.runningSinceMs === null && !isBehind(one, stages)))
    .map(({ stage, lastSuccessAtMs, openedAtMs, everyMs, lastError }) => ({
      stage,
      failingMs: nowMs - (lastSuccessAtMs ?? openedAtMs) - everyMs,
      why: lastError ? lastError.message : 'it has not succeeded; see "wattline status"',
    }));
  return [...open, ...late];
}

/** Unknown while nothing was read yet. */
function lagOf(status: WorkgroupStatus | undefined, nowMs: UtcMs): number | undefined {
  const seconds = status && withLag(status, nowMs).poll.lagSeconds;
  return seconds === undefined ? undefined : seconds * SECOND_MS;
}

function exportsOf({ exportStates }: AlertSources, workgroupId: string): AlertFacts['exports'] {
  const own = [...exportStates()].filter(([{ workgroup }]) => workgroup.id === workgroupId);
  return own.map(
    ([
      { config },
      {
        outdated,
        troubled: [first],
      },
    ]) => ({
      id: config.id,
      outdatedFiles: outdated,
      undelivered: first && {
        period: first.period,
        dueMs: Date.parse(first.plannedAt),
        why: first.lastError?.message,
      },
    }),
  );
}

async function diskOf(dataDir: string): Promise<AlertFacts['disk']> {
  const found = await statfs(dataDir).catch(() => undefined);
  return found && { freeBytes: found.bavail * found.bsize, sizeBytes: found.blocks * found.bsize };
}

/** The inputs of all processes of this machine. Unknown if none of them runs inputs of the workgroup. */
async function inputsOf(
  { config, workgroups }: AlertSources,
  workgroupId: string,
  nowMs: UtcMs,
): Promise<AlertFacts['inputs']> {
  if (!workgroups.get(workgroupId)?.inputs) return [];
  const answers = await askProcesses(config.dataDir, 'inputs', FACTS_MS_MAX);
  const states = answers.flatMap(({ outcome }) => (outcome.kind === 'answer' ? outcome.answer : []));
  const own = states.filter((one) => one.workgroupId === workgroupId && one.kind === 'mqtt');
  if (own.length === 0) return undefined;
  return own.map(({ input, address, connection, sinceMs, problem }) => ({
    input,
    address,
    disconnectedMs: connection === 'connected' || connection === 'idle' ? 0 : Math.abs(nowMs - sinceMs),
    problem,
  }));
}
