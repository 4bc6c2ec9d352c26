import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { WorkerHealth } from '../../jobs/worker-health.ts';
import type { AlertFacts } from '../alerts/alert-facts.ts';
import { readBudgets } from '../alerts/read-budgets.ts';
import type { WarehouseFacts } from '../alerts/read-warehouse-facts.ts';
import { createSilenceWatch } from '../alerts/silence-watch.ts';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { Exports } from '../exports/create-exports.ts';
import type { InputState } from '../inputs/input-counter.ts';
import { type Clock, elapsedOf, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { currentLag } from '../operate/current-lag.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { askProcesses } from '../worker-rpc/process-rpc.ts';
import { stageFacts } from './stage-facts.ts';

/** What alerts read of a worker. */
export interface AlertSources {
  config: Pick<Config, 'dataDir' | 'stream'>;
  workgroups: Pick<Workgroups, 'get' | 'list' | 'exportsOf' | 'alerts' | 'onChange'>;
  health(): Pick<WorkerHealth, 'shards'>;
  statusOf(workgroupId: string): WorkgroupStatus;
  pipeline: Pick<Pipeline, 'run'>;
  exportStates(): ReturnType<Exports['states']>;
  /** Opened only for workgroups with budgets. */
  lakeOf(): Promise<LakeReader>;
  clock: Clock;
}

/** A warehouse that is busy with a roll-up answers later. The facts are unknown then. */
const FACTS_MS_MAX = 20 * SECOND_MS;
/**
 * Budgets are read again after this many times the time that the last read took, so that they cost at most a
 * hundredth of a core.
 */
const BUDGETS_REST_FACTOR = 100;
const BUDGETS_REST_MS_MAX = 15 * MINUTE_MS;

/**
 * Reads the facts that decide the conditions of a workgroup. A part that cannot be known now is undefined.
 */
export function createFactsReader(sources: AlertSources, workgroupId: string): () => Promise<AlertFacts> {
  const { config, workgroups, clock, pipeline } = sources;
  const silences = createSilenceWatch(clock);
  let days: { token: string; facts: WarehouseFacts['days'] } | undefined;
  let budgets: { facts: AlertFacts['budgets']; untilMs: number } | undefined;
  let budgetsUnderWay: Promise<void> | undefined;
  let known = workgroups.get(workgroupId);

  async function readWarehouse(): Promise<WarehouseFacts | undefined> {
    const reading = pipeline.run(workgroupId, 'alertFacts', { known: days?.token });
    const facts = await withTimeout(reading, FACTS_MS_MAX).catch(() => undefined);
    if (facts === undefined || facts === 'late') return undefined;
    if (facts.days) days = { token: facts.daysToken, facts: facts.days };
    return facts;
  }

  async function budgetsOf(
    warehouse: WarehouseFacts | undefined,
    nowMs: UtcMs,
  ): Promise<AlertFacts['budgets']> {
    const workgroup = workgroups.get(workgroupId);
    if (!warehouse || !workgroup || workgroups.alerts().conditions.budget === 'off') return undefined;
    if (!warehouse.hasBudgets) return [];
    if (budgets === undefined || elapsedOf(clock) >= budgets.untilMs) {
      budgetsUnderWay ??= lookAtBudgets(workgroup, nowMs).finally(() => {
        budgetsUnderWay = undefined;
      });
      // An export can keep the reader of the lake busy for minutes, and other conditions do not wait for it.
      await withTimeout(budgetsUnderWay, FACTS_MS_MAX);
    }
    return budgets?.facts;
  }

  async function lookAtBudgets(workgroup: WorkgroupConfig, nowMs: UtcMs): Promise<void> {
    const beganAtMs = elapsedOf(clock);
    const facts = await sources
      .lakeOf()
      .then((lake) => readBudgets(lake, workgroup, nowMs))
      .catch(() => undefined);
    const endedAtMs = elapsedOf(clock);
    const restMs = Math.min(BUDGETS_REST_MS_MAX, BUDGETS_REST_FACTOR * (endedAtMs - beganAtMs));
    budgets = { facts, untilMs: endedAtMs + restMs };
  }

  return async () => {
    const nowMs = clock.now();
    const workgroup = workgroups.get(workgroupId);
    // The roles or the sites of the workgroup can have changed.
    if (workgroup !== known) [days, budgets, known] = [undefined, undefined, workgroup];
    const shard = sources.health().shards.find((one) => one.workgroupId === workgroupId);
    const isOpen = shard?.state === 'owned';
    const status = isOpen ? sources.statusOf(workgroupId) : undefined;
    const warehouse = isOpen ? await readWarehouse() : undefined;
    const names = new Map(workgroup?.devices.map(({ id, name }) => [id, name]));
    const seen = warehouse && silences.look(warehouse.devices);
    return {
      nowMs,
      retentionMs: config.stream.retention,
      nameOf: (device) => names.get(device) ?? device,
      stages: shard && stageFacts(shard, nowMs),
      lagMs: lagOf(status, nowMs),
      mayLagMore: status?.poll.lastSuccessAtMs === undefined,
      gaps: warehouse?.gaps,
      lastHour: warehouse?.lastHour,
      silences: hasEverything(status) ? seen : undefined,
      ...(warehouse && days?.facts),
      exports: isOpen ? exportsOf(sources, workgroupId) : undefined,
      budgets: await budgetsOf(warehouse, nowMs),
      disk: await diskOf(config.dataDir),
      inputs: await inputsOf(sources, workgroupId, nowMs),
    };
  };
}

/** Silent devices are unknown until everything is read and published. */
function hasEverything(status: WorkgroupStatus | undefined): boolean {
  if (!status) return false;
  const { poll, publish } = status;
  return poll.upToDate === true && poll.lastError === undefined && publish.lastError === undefined;
}

/** Unknown until something was read. */
function lagOf(status: WorkgroupStatus | undefined, nowMs: UtcMs): number | undefined {
  const seconds = status && currentLag(status, nowMs).poll.lagSeconds;
  return seconds === undefined ? undefined : seconds * SECOND_MS;
}

/** Unknown until each export was looked at, as after a start and after a reload. */
function exportsOf({ exportStates, workgroups }: AlertSources, workgroupId: string): AlertFacts['exports'] {
  const own = [...exportStates()].filter(([{ workgroup }]) => workgroup.id === workgroupId);
  if (own.length < workgroups.exportsOf(workgroupId).length) return undefined;
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
  if (!found) return undefined;
  const { bavail, blocks, bsize } = found;
  return {
    freeBytes: bavail * bsize,
    sizeBytes: blocks * bsize,
    folder: resolve(dataDir),
    machine: hostname(),
  };
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
  return own.map((one) => inputFact(one, nowMs));
}

/** What alerts know of a broker. */
export function inputFact(
  { input, address, connection, sinceMs, problem, losses }: InputState,
  nowMs: UtcMs,
): NonNullable<AlertFacts['inputs']>[number] {
  return {
    input,
    address,
    disconnectedMs: connection === 'connected' ? null : Math.abs(nowMs - sinceMs),
    losses: losses.length,
    problem: problem ?? losses.at(-1)?.reason,
  };
}
