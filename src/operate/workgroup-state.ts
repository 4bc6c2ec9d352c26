import { hostname } from 'node:os';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import { workgroupWarnings } from '../config/config-warnings.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { settingPlace } from '../config/workgroup-place.ts';
import { type ExportState, exportState } from '../exports/list-exports.ts';
import { openLedger } from '../exports/open-ledger.ts';
import type { LandedImport } from '../import/newest-imports.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
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
import type { LocatedWork, RemoteControl } from '../worker-rpc/remote-control.ts';
import { countBacklogs, type FindStream } from './count-backlogs.ts';
import { currentLag, lagFromStream } from './current-lag.ts';
import { inputTroubles } from './input-troubles.ts';
import {
  type FactSource,
  heldBySomebody,
  type KnownImport,
  readKnownImports,
  readNewestImports,
} from './known-imports.ts';
import { silentWorkerTroubles, stoppedOwnerTroubles, workerTroubles } from './owner-troubles.ts';
import type { workgroupStates } from './status-schema.ts';
import { storageTroubles } from './storage-troubles.ts';

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

export const statusStages: readonly StatusStage[] = ['poll', 'rollup', 'publish', 'maintain'];

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
  const troubles = await inputTroubles(source.config, chosen, source.clock);
  // One after another, because each may open a warehouse.
  for (const workgroup of chosen) {
    const inputs = troubles.filter(({ workgroupId }) => workgroupId === workgroup.id);
    states.push(await readState(source, workgroup, { ...options, inputs }));
  }
  return withLagsFromStreams(states, source);
}

async function readState(
  source: StateSource,
  workgroup: WorkgroupConfig,
  { withEffects, inputs }: { withEffects: boolean; inputs: readonly Trouble[] },
): Promise<WorkgroupState> {
  const { config, clock } = source;
  const { id: workgroupId } = workgroup;
  const found = await findStatus(source, workgroupId);
  const { status, isOfLiving, workers, elsewhere } = found;
  const { trouble: importTrouble, ...importFacts } = await readImports(source, workgroup, found, withEffects);
  const nowMs = clock.now();
  const silentTroubles = status && !elsewhere ? silentWorkerTroubles(config, status, nowMs) : [];
  const currentTroubles = [
    ...inputs,
    ...storageTroubles(config, workgroupId, nowMs),
    ...stoppedOwnerTroubles(config, workgroupId, nowMs),
    ...(status ? clockTroubles(workgroup, status, nowMs) : []),
    ...(elsewhere ? [] : workerTroubles(config, workers, workgroupId, nowMs)),
    ...silentTroubles,
  ];
  const warnings = warningsOf(source.workgroups, workgroup);
  const { exports, trouble: exportTrouble } = await readExports(source, workgroupId);
  const readTroubles = [importTrouble ?? [], exportTrouble ?? []].flat();
  if (!status) {
    const troubles = [...currentTroubles, ...readTroubles];
    const empty = emptyStatus(workgroupId, 0);
    return { ...empty, ...importFacts, exports, problems: warnings, troubles, state: 'never run' };
  }
  const isHibernated = status.isHibernated === true && (elsewhere !== undefined || workers.kind === 'living');
  const isRunning = status.isHibernated
    ? isHibernated
    : (isOfLiving && isFresh(status, nowMs)) || silentTroubles.length > 0;
  // The last state of a stopped worker is not current.
  const writtenTroubles = isRunning ? (status.troubles ?? []) : [];
  // A stopped process has written that everything is well.
  const troubles = [
    ...currentTroubles,
    ...writtenTroubles,
    ...(writtenTroubles.length > 0 ? [] : readTroubles),
  ];
  const isFailing = troubles.length > 0 || statusStages.some((stage) => status[stage].lastError);
  return {
    ...status,
    ...(isRunning ? currentLag(status, nowMs) : { lagSeconds: status.poll.lagSeconds }),
    ...importFacts,
    machine: elsewhere?.status ? elsewhere.machine : hostname(),
    troubles,
    exports,
    // Older versions wrote no problems.
    problems: [...(status.problems ?? []), ...warnings],
    state: !isRunning ? 'stopped' : isFailing ? 'failing' : isHibernated ? 'hibernated' : 'running',
  };
}

interface FoundStatus {
  /** Undefined if no worker has had the workgroup. */
  status: WorkgroupStatus | undefined;
  /** False if the process that wrote the status was killed or has crashed. */
  isOfLiving: boolean;
  workers: LocalWorkers;
  /** Undefined if the work is done on this machine, or by nobody. */
  elsewhere: LocatedWork | undefined;
}

/** Finds the status in the data folder, or else asks the worker of another machine. */
async function findStatus(
  { config, control, clock }: StateSource,
  workgroupId: string,
): Promise<FoundStatus> {
  const written = readStatus(config.dataDir, workgroupId);
  const workers = findLocalWorkers(config.dataDir);
  const isWrittenByLiving = written !== undefined && !hasEnded(config.dataDir, written.processId);
  const isHere = isWrittenByLiving && isOfLivingWorker(written, workers, clock.now());
  const elsewhere = isHere ? undefined : await control.locate(workgroupId);
  return {
    status: elsewhere?.status ?? written,
    isOfLiving: elsewhere?.status !== undefined || isWrittenByLiving,
    workers,
    elsewhere,
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
  { status, elsewhere }: FoundStatus,
  withEffects: boolean,
): Promise<Pick<WorkgroupState, 'imports' | 'newestImports' | 'lastHour'> & { trouble?: Trouble }> {
  // The warehouse of this machine is older than the warehouse of the other worker.
  if (elsewhere?.status?.isHibernated)
    return { imports: heldBySomebody(elsewhere.status.imports ?? []), newestImports: [] };
  try {
    const known = await readKnownImports(source, workgroup, status?.imports ?? []);
    return { ...known, newestImports: withEffects ? await readNewestImports(source, workgroup) : [] };
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
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

/** Replaces the lag of workgroups that do not run, or fail, by what their streams say. */
async function withLagsFromStreams(
  states: readonly WorkgroupState[],
  { findStream, clock }: StateSource,
): Promise<WorkgroupState[]> {
  const doubtful = states.filter(({ state }) => state !== 'running');
  const backlogs = doubtful.length === 0 ? new Map() : await countBacklogs(doubtful, findStream);
  const nowMs = clock.now();
  return states.map((workgroup) =>
    workgroup.state === 'running'
      ? workgroup
      : { ...workgroup, ...lagFromStream(workgroup, backlogs.get(workgroup.workgroupId), nowMs) },
  );
}

/** Data that cannot be opened, if no worker reports it. */
function notOpen(workgroupId: string, error: TerminalError, nowMs: UtcMs): Trouble {
  const { message } = failureWords(error);
  return { workgroupId, stage: 'open', state: 'not-open', sinceMs: nowMs, message };
}
