import { hostname } from 'node:os';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import { workgroupWarnings } from '../config/config-warnings.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { settingPlace } from '../config/workgroup-place.ts';
import { type ExportState, exportState } from '../exports/list-exports.ts';
import { openLedger } from '../exports/open-ledger.ts';
import type { LandedImport } from '../import/newest-imports.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import { clockTroubles } from '../pipeline/clock-troubles.ts';
import { failureWords } from '../pipeline/failure-words.ts';
import type { Trouble } from '../pipeline/trouble.ts';
import {
  emptyStatus,
  isFresh,
  readStatus,
  type StatusStage,
  type WorkgroupStatus,
} from '../pipeline/workgroup-status.ts';
import type { ShardStatus } from '../warehouse/shard-status.ts';
import { findLocalWorkers, hasEnded, type LocalWorkers } from '../worker-rpc/local-workers.ts';
import type { RemoteControl } from '../worker-rpc/remote-control.ts';
import { countBacklogs, type FindStream } from './count-backlogs.ts';
import { inputTroubles } from './input-troubles.ts';
import {
  type FactSource,
  heldBySomebody,
  type KnownImport,
  readKnownImports,
  readNewestImports,
} from './known-imports.ts';
import type { workgroupStates } from './status-schema.ts';
import { silentWorkerTroubles, storageTroubles, workerTroubles } from './storage-troubles.ts';
import { withLag } from './with-lag.ts';

/** The status that a worker wrote, and what this process finds out. */
export interface WorkgroupState extends Omit<WorkgroupStatus, 'imports' | 'troubles'> {
  imports: KnownImport[];
  /** The newest finished imports, and their effect. Empty if they were not asked for. */
  newestImports: LandedImport[];
  state: (typeof workgroupStates)[number];
  /** The largest lag of the stages. The lag of a failing stage grows since its last success. */
  lagSeconds?: number | undefined;
  /** Undefined if no process has the data open. */
  lastHour?: ShardStatus['lastHour'] | undefined;
  troubles: Trouble[];
  /** The state of its exports. */
  exports: ExportState[];
  /** The machine of the worker that has it, or had it last. Undefined if no worker has opened it. */
  machine?: string | undefined;
}

export interface StateSource extends FactSource {
  config: Pick<Config, 'dataDir' | 'pipeline' | 'limits' | 'stream' | 'storage'>;
  /** All workgroups, in the order of the configuration. */
  workgroups: readonly WorkgroupConfig[];
  exportsOf(workgroupId: string): ReadonlyArray<Pick<ExportConfig, 'id' | 'workgroup'>>;
  findStream: FindStream;
  control: FactSource['control'] & Pick<RemoteControl, 'locate'>;
}

export const stages: readonly StatusStage[] = ['poll', 'rollup', 'publish', 'maintain'];

/**
 * The state of workgroups, for the command line and for HTTP.
 * @param options.withEffects true to compute the effect of the newest imports, which takes seconds after
 *   large imports
 * @throws errors of the file system
 */
export async function readWorkgroupStates(
  source: StateSource,
  chosen: readonly WorkgroupConfig[],
  options: { withEffects: boolean },
): Promise<WorkgroupState[]> {
  const states: WorkgroupState[] = [];
  const ofInputs = await inputTroubles(source.config, chosen, source.clock);
  // One after another, because each may open a warehouse.
  for (const workgroup of chosen) {
    const inputs = ofInputs.filter(({ workgroupId }) => workgroupId === workgroup.id);
    states.push(await readState(source, workgroup, { ...options, inputs }));
  }
  return withBacklogs(states, source);
}

async function readState(
  source: StateSource,
  workgroup: WorkgroupConfig,
  { withEffects, inputs }: { withEffects: boolean; inputs: readonly Trouble[] },
): Promise<WorkgroupState> {
  const { config, clock } = source;
  const { id: workgroupId } = workgroup;
  const written = readStatus(config.dataDir, workgroupId);
  const workers = findLocalWorkers(config.dataDir);
  const isWrittenByLiving = written !== undefined && !hasEnded(config.dataDir, written.processId);
  const isHere = isWrittenByLiving && isOfLivingWorker(written, workers, clock.now());
  const elsewhere = isHere ? undefined : await source.control.locate(workgroupId);
  const status = elsewhere?.status ?? written;
  // The warehouse of this machine is older than the warehouse of the other worker.
  const found = elsewhere?.status?.isHibernated
    ? { imports: heldBySomebody(elsewhere.status.imports ?? []), newestImports: [] }
    : await readImports(source, workgroup, status, withEffects);
  const nowMs = clock.now();
  const silent = status && !elsewhere ? silentWorkerTroubles(config, status, nowMs) : [];
  const outside = [
    ...inputs,
    ...storageTroubles(config, workgroupId, nowMs),
    ...(status ? clockTroubles(workgroup, status, nowMs) : []),
    ...(elsewhere ? [] : workerTroubles(config, workers, workgroupId, nowMs)),
    ...silent,
  ];
  const warnings = warningsOf(source.workgroups, workgroup);
  const { trouble: unreadable, ...facts }: Awaited<ReturnType<typeof readImports>> = found;
  const { exports, trouble: unlisted } = await readExports(source, workgroupId);
  const problem = [unreadable ?? [], unlisted ?? []].flat();
  if (!status) {
    const none = { ...emptyStatus(workgroupId, 0), ...facts, exports, problems: warnings };
    return { ...none, troubles: [...outside, ...problem], state: 'never run' };
  }
  const isHibernated = status.isHibernated === true && (elsewhere !== undefined || workers.kind === 'living');
  const isWritten = isFresh(status, nowMs) && (elsewhere?.status !== undefined || isWrittenByLiving);
  const isRunning = status.isHibernated ? isHibernated : isWritten || silent.length > 0;
  // The last state of a stopped worker is not current.
  const own = isRunning ? (status.troubles ?? []) : [];
  // A stopped process has written that everything is well.
  const troubles = [...outside, ...own, ...(own.length > 0 ? [] : problem)];
  const isFailing = troubles.length > 0 || stages.some((stage) => status[stage].lastError);
  return {
    ...status,
    ...(isRunning ? withLag(status, nowMs) : { lagSeconds: status.poll.lagSeconds }),
    ...facts,
    machine: elsewhere?.status ? elsewhere.machine : hostname(),
    troubles,
    exports,
    // Older versions wrote no problems.
    problems: [...(status.problems ?? []), ...warnings],
    state: !isRunning ? 'stopped' : isFailing ? 'failing' : isHibernated ? 'hibernated' : 'running',
  };
}

function isOfLivingWorker(status: WorkgroupStatus, { kind }: LocalWorkers, nowMs: UtcMs): boolean {
  if (kind === 'ended') return false;
  return status.isHibernated ? kind === 'living' : isFresh(status, nowMs);
}

/** A bucket that does not answer becomes a trouble, so that the other facts are shown. */
async function readExports(
  { config, exportsOf, clock }: StateSource,
  workgroupId: string,
): Promise<{ exports: ExportState[]; trouble?: Trouble }> {
  try {
    const states = exportsOf(workgroupId).map((one) => exportState(one.id, openLedger(config, one)));
    return { exports: await Promise.all(states) };
  } catch (error) {
    if (!config.storage.s3 || !(error instanceof TransientError)) throw error;
    const message = `the state of the exports cannot be read: ${error.message}`;
    const sinceMs = clock.now();
    return { exports: [], trouble: { workgroupId, stage: 'export', state: 'unreachable', sinceMs, message } };
  }
}

/** A problem with the warehouse becomes a trouble, so that the other facts are shown. */
async function readImports(
  source: StateSource,
  workgroup: WorkgroupConfig,
  status: WorkgroupStatus | undefined,
  withEffects: boolean,
): Promise<Pick<WorkgroupState, 'imports' | 'newestImports' | 'lastHour'> & { trouble?: Trouble }> {
  try {
    const known = await readKnownImports(source, workgroup, status?.imports ?? []);
    return { ...known, newestImports: withEffects ? await readNewestImports(source, workgroup) : [] };
  } catch (error) {
    if (!(error instanceof TerminalError || isHeld(error))) throw error;
    const trouble = notOpen(workgroup.id, error, source.clock.now());
    return { imports: [], newestImports: [], trouble };
  }
}

function warningsOf(workgroups: readonly WorkgroupConfig[], workgroup: WorkgroupConfig) {
  const index = workgroups.findIndex(({ id }) => id === workgroup.id);
  return workgroupWarnings(workgroup).map(({ path, message }) => ({
    path: settingPlace(workgroup, index, path),
    message,
  }));
}

/**
 * Replaces the lag of workgroups that do not run, or fail, by what their streams say. Unknown if they cannot
 * be asked.
 */
async function withBacklogs(
  states: readonly WorkgroupState[],
  { findStream, clock }: StateSource,
): Promise<WorkgroupState[]> {
  const doubtful = states.filter(({ state }) => state !== 'running');
  const backlogs = doubtful.length === 0 ? new Map() : await countBacklogs(doubtful, findStream);
  const nowMs = clock.now();
  return states.map((workgroup) =>
    workgroup.state === 'running' ? workgroup : ofBacklog(workgroup, backlogs, nowMs),
  );
}

function ofBacklog(
  workgroup: WorkgroupState,
  backlogs: ReadonlyMap<string, number>,
  nowMs: UtcMs,
): WorkgroupState {
  const messages = backlogs.get(workgroup.workgroupId);
  const { poll, state } = workgroup;
  if (messages === undefined) {
    if (state === 'failing') return workgroup;
    const unknown = { ...poll, lagMessages: undefined, lagSeconds: undefined };
    return { ...workgroup, poll: unknown, lagSeconds: undefined };
  }
  const behindMs = poll.lastSuccessAtMs === undefined ? undefined : Math.max(0, nowMs - poll.lastSuccessAtMs);
  const pollSeconds = messages === 0 ? 0 : behindMs && Math.round(behindMs / SECOND_MS);
  const lagSeconds = state === 'failing' && messages === 0 ? workgroup.lagSeconds : pollSeconds;
  return { ...workgroup, poll: { ...poll, lagMessages: messages, lagSeconds: pollSeconds }, lagSeconds };
}

/** True if another process has the data and does not answer. */
function isHeld(error: unknown): error is TransientError {
  return error instanceof TransientError && (error.code === 'NoAnswer' || error.code === 'WarehouseLocked');
}

/** Data that cannot be opened, if no worker reports it. */
function notOpen(workgroupId: string, error: TerminalError | TransientError, nowMs: UtcMs): Trouble {
  const { message } = failureWords(error);
  return { workgroupId, stage: 'open', state: 'not-open', sinceMs: nowMs, message };
}
