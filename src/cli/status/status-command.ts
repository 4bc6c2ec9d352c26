import { type Command, Option } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { workgroupWarnings } from '../../config/config-warnings.ts';
import { settingPlace } from '../../config/workgroup-place.ts';
import { openLedger } from '../../exports/export-ledger.ts';
import { TerminalError, TransientError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import {
  DAY_MS,
  formatInstant,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  systemClock,
  type UtcMs,
} from '../../lib/time.ts';
import { failureWords } from '../../pipeline/failure-words.ts';
import { describeTrouble, type Trouble } from '../../pipeline/trouble.ts';
import {
  emptyStatus,
  isFresh,
  readStatuses,
  type StatusStage,
  type WorkgroupStatus,
} from '../../pipeline/workgroup-status.ts';
import type { Terminal } from '../../service/terminal.ts';
import { type Control, hasLivingWorker } from '../../worker-rpc/worker-rpc.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { type ExportState, exportNotes, exportState } from '../exports/exports-view.ts';
import { readConfig } from '../global-options.ts';
import { FAILING_CODE } from '../terminal/exit-codes.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData, printNote } from '../terminal/output.ts';
import { countBacklogs } from './status-backlog.ts';
import { askConfigStates, describeConfigStates, streamUrl } from './status-config.ts';
import {
  describeImport,
  describeNewestImport,
  type ListedImport,
  type ListedNewestImport,
  listImports,
  listNewestImports,
} from './status-imports.ts';
import { withLag } from './status-lag.ts';
import { storageTroubles } from './status-storage.ts';

/** The status that a worker wrote, and whether it still writes. */
interface ListedStatus extends Omit<WorkgroupStatus, 'imports' | 'troubles'> {
  imports: ListedImport[];
  /** The newest finished imports, and their effect. */
  newestImports: ListedNewestImport[];
  state: 'running' | 'hibernated' | 'stopped' | 'failing' | 'never run';
  /** The largest lag of the stages. The lag of a failing stage grows since its last success. */
  lagSeconds?: number | undefined;
  troubles: Trouble[];
  /** The state of its exports. */
  exports: ExportState[];
}

const stages: readonly StatusStage[] = ['poll', 'rollup', 'publish', 'maintain'];

export function addStatusCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .description('show the progress and the problems of each workgroup')
    .option('-w, --workgroup <id>', 'only this workgroup')
    .addOption(
      new Option(
        '-d, --devices [state]',
        'list the devices and since when they are online or offline; or only the devices in a state',
      ).choices(['online', 'offline', 'unknown']),
    )
    .addHelpText('after', help)
    .action(async ({ workgroup, devices }: { workgroup?: string; devices?: DeviceFilter }) => {
      const config = readConfig(command, terminal);
      if (devices !== undefined) {
        const { describeDevices, listDevices } = await import('./status-devices.ts');
        const chosen = chooseWorkgroups(config, workgroup);
        const listed = await listDevices(config, chosen, devices === true ? undefined : devices);
        return printData(command, terminal, listed, (columnsMax, shown) =>
          describeDevices(shown, chosen, columnsMax),
        );
      }
      const processes = await askConfigStates(config.dataDir);
      for (const note of describeConfigStates(processes)) printNote(command, terminal, note);
      const { openControl } = await import('../../service/open-control.ts');
      const control = openControl(config, { logger: silentLogger });
      const listed = await listStatuses(config, control, systemClock.now(), workgroup).finally(control.close);
      const statuses = await withBacklogs(config, listed, streamUrl(processes), systemClock.now());
      printData(command, terminal, statuses, (columnsMax, shown) =>
        describe(shown, systemClock.now(), columnsMax),
      );
      const troubles = statuses.flatMap((status) => status.troubles);
      if (troubles.length > 0) throw failing(troubles);
    });
}

function failing(troubles: readonly Trouble[]): TransientError {
  const [first] = troubles as [Trouble];
  const more = troubles.length > 1 ? ` (and ${troubles.length - 1} more, above)` : '';
  return new TransientError(FAILING_CODE, `${describeTrouble(first)}${more}`);
}

type DeviceFilter = true | 'online' | 'offline' | 'unknown';

/** @throws InputError if the workgroup does not exist */
function chooseWorkgroups(config: Config, only: string | undefined): WorkgroupConfig[] {
  return only === undefined && config.workgroups.length > 1
    ? config.workgroups
    : [chooseWorkgroup(config, only)];
}

/** @throws InputError if the workgroup does not exist, TransientError if no worker has written a status yet */
async function listStatuses(
  config: Config,
  control: Pick<Control, 'ask'>,
  nowMs: UtcMs,
  only: string | undefined,
): Promise<ListedStatus[]> {
  const written = new Map(readStatuses(config.dataDir).map((status) => [status.workgroupId, status]));
  const chosen = chooseWorkgroups(config, only);
  const imports = new Map<string, ListedImport[]>();
  const newest = new Map<string, ListedNewestImport[]>();
  const unreadable = new Map<string, Trouble>();
  for (const workgroup of chosen) {
    const { id } = workgroup;
    try {
      imports.set(id, await listImports(config, workgroup, written.get(id)?.imports ?? [], control));
      newest.set(id, await listNewestImports(config, workgroup, control));
    } catch (error) {
      // A problem with one warehouse does not hide the others.
      if (!(error instanceof TerminalError || isHeld(error))) throw error;
      unreadable.set(id, notOpen(id, error, nowMs));
      imports.set(id, []);
      newest.set(id, []);
    }
  }
  const storage = new Map(chosen.map(({ id }) => [id, storageTroubles(config, id, nowMs)]));
  const isEmpty = (id: string) => [imports, newest, storage].every((found) => found.get(id)!.length === 0);
  if (chosen.every(({ id }) => !written.has(id) && !unreadable.has(id) && isEmpty(id))) {
    throw new TransientError(
      'NothingRuns',
      `no worker has run on ${config.dataDir} yet; start one with "wattline up"`,
    );
  }
  const warningsOf = (workgroupId: string) => {
    const index = config.workgroups.findIndex(({ id }) => id === workgroupId);
    const workgroup = config.workgroups[index]!;
    return workgroupWarnings(workgroup).map(({ path, message }) => ({
      path: settingPlace(workgroup, index, path),
      message,
    }));
  };
  return chosen.map(({ id: workgroupId }) => {
    const status = written.get(workgroupId);
    const open = imports.get(workgroupId)!;
    const newestImports = newest.get(workgroupId)!;
    const warnings = warningsOf(workgroupId);
    const exports = config.exports
      .filter(({ workgroup }) => workgroup === workgroupId)
      .map(({ id }) => exportState(id, openLedger(config.dataDir, id)));
    if (!status) {
      return {
        ...emptyStatus(workgroupId, 0),
        imports: open,
        newestImports,
        exports,
        problems: warnings,
        troubles: [...storage.get(workgroupId)!, ...[unreadable.get(workgroupId) ?? []].flat()],
        state: 'never run',
      };
    }
    const isHibernated = status.isHibernated === true && hasLivingWorker(config.dataDir);
    const isRunning = isFresh(status, nowMs) || isHibernated;
    // The last state of a stopped worker is not current.
    const own = isRunning ? (status.troubles ?? []) : [];
    // A stopped process has written that everything is well.
    const opening = [...own, ...(own.length > 0 ? [] : [unreadable.get(workgroupId) ?? []].flat())];
    const troubles = [...storage.get(workgroupId)!, ...opening];
    const isFailing = troubles.length > 0 || stages.some((stage) => status[stage].lastError);
    return {
      ...status,
      ...(isRunning ? withLag(status, nowMs) : { lagSeconds: status.poll.lagSeconds }),
      troubles,
      imports: open,
      newestImports,
      exports,
      problems: [...status.problems, ...warnings],
      state: !isRunning ? 'stopped' : isFailing ? 'failing' : isHibernated ? 'hibernated' : 'running',
    };
  });
}

/** Replaces the lag of workgroups that do not run, or fail, by what their streams say. Unknown if they cannot be asked. */
async function withBacklogs(
  config: Config,
  statuses: readonly ListedStatus[],
  ownUrl: string | undefined,
  nowMs: UtcMs,
): Promise<ListedStatus[]> {
  const doubtful = statuses.filter(({ state }) => state !== 'running');
  const backlogs = await countBacklogs(config, doubtful, ownUrl);
  return statuses.map((status) => {
    if (status.state === 'running') return status;
    const messages = backlogs.get(status.workgroupId);
    const { poll, state } = status;
    if (messages === undefined) {
      if (state === 'failing') return status;
      return {
        ...status,
        poll: { ...poll, lagMessages: undefined, lagSeconds: undefined },
        lagSeconds: undefined,
      };
    }
    const behindMs =
      poll.lastSuccessAtMs === undefined ? undefined : Math.max(0, nowMs - poll.lastSuccessAtMs);
    const pollSeconds = messages === 0 ? 0 : behindMs && Math.round(behindMs / SECOND_MS);
    const lagSeconds = state === 'failing' && messages === 0 ? status.lagSeconds : pollSeconds;
    return { ...status, poll: { ...poll, lagMessages: messages, lagSeconds: pollSeconds }, lagSeconds };
  });
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

function describe(statuses: readonly ListedStatus[], nowMs: UtcMs, columnsMax: number): string {
  const errors = statuses.flatMap((status) =>
    stages.flatMap((stage) => {
      const { lastError } = status[stage];
      return lastError
        ? [`${status.workgroupId}, ${stage} at ${formatInstant(lastError.atMs)}: ${lastError.message}\n`]
        : [];
    }),
  );
  const failing = statuses.flatMap(({ troubles }) =>
    troubles.map((one) => `failing: ${describeTrouble(one)}\n`),
  );
  const problems = statuses.flatMap((status) =>
    status.problems.map(({ path, message }) => `problem: ${path}: ${message}\n`),
  );
  const imports = statuses.flatMap(({ workgroupId, imports: open, newestImports }) => [
    ...open.map((one) => describeImport(workgroupId, one)),
    ...newestImports.map((one) => describeNewestImport(workgroupId, one)),
  ]);
  const exports = statuses.flatMap(({ workgroupId, exports: own }) =>
    own.flatMap(exportNotes).map((note) => `export: ${workgroupId}, ${note}\n`),
  );
  return [
    formatTable(columnsAt(nowMs), statuses, columnsMax),
    ...(failing.length > 0 ? ['\n', ...failing] : []),
    ...(problems.length > 0 ? ['\n', ...problems] : []),
    ...(imports.length > 0 ? ['\n', ...imports] : []),
    ...(exports.length > 0 ? ['\n', ...exports] : []),
    ...(errors.length > 0 ? ['\nLast errors\n', ...errors] : []),
  ].join('');
}

function columnsAt(nowMs: UtcMs) {
  const count = (value: number | undefined) => (value === undefined ? '-' : value.toLocaleString('en'));
  const ago = (ms: UtcMs | undefined) => (ms === undefined ? '-' : `${inWords(Math.max(0, nowMs - ms))} ago`);
  const right = 'right' as const;
  return [
    { title: 'Workgroup', value: (one: ListedStatus) => one.workgroupId },
    { title: 'State', value: (one: ListedStatus) => one.state },
    { title: 'Checkpoint', value: (one: ListedStatus) => one.poll.nextOffset ?? '-' },
    { title: 'Lag', value: (one: ListedStatus) => count(one.poll.lagMessages), align: right },
    { title: 'Lag s', value: (one: ListedStatus) => count(one.lagSeconds), align: right },
    { title: 'By', value: (one: ListedStatus) => one.poll.transport ?? '-' },
    { title: 'Polled', value: (one: ListedStatus) => ago(one.poll.lastSuccessAtMs), align: right },
    { title: 'Rolled up', value: (one: ListedStatus) => ago(one.rollup.lastSuccessAtMs), align: right },
    { title: 'Generation', value: (one: ListedStatus) => count(one.publish.generation), align: right },
    { title: 'Online', value: (one: ListedStatus) => count(one.devices?.online), align: right },
    { title: 'Offline', value: (one: ListedStatus) => count(one.devices?.offline), align: right },
    { title: 'Gaps', value: (one: ListedStatus) => count(one.gaps), align: right },
    { title: 'Quarantine', value: (one: ListedStatus) => count(one.quarantined), align: right },
  ];
}

/** In the largest unit with a value of two or more. */
function inWords(ms: number): string {
  const units = [
    ['d', DAY_MS],
    ['h', HOUR_MS],
    ['min', MINUTE_MS],
  ] as const;
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? ['s', SECOND_MS];
  return `${Math.round(ms / unitMs)} ${unit}`;
}

const help = `
Lag is the number of messages between the warehouse and the head of the stream, if known. "Lag s" is the delay of the stages in seconds. While a
stage fails, it is the time since its last success. If no worker reports the lag, the stream is asked; "-" is unknown. State is "stopped" if no worker has
written for half a minute, and "hibernated" if its warehouse is closed because there is nothing to do: a message, a request or a schedule opens it.
By is how the stream was
last read: over REST, or over a socket (upstream.transport).

A line that begins with "failing" names a workgroup, a stage, the problem, and what to do. A stage fails if it has failed for minutes, is due
without success, or is not called. Data that cannot be opened are listed too. The exit code is then 4. A line that begins with "problem" names a
setting, the problem, and what to change. The worker looks for problems in the data every pipeline.maintainEvery. The command works with and
without a running worker.

Unfinished imports are listed with what to do. The three newest imports of the last week are listed with their readings and their energy, or
with a warning if they gave no energy.

Online and Offline count devices by their last reported state. With stream.deviceTimeout, silent devices are offline.

Examples:
  wattline status
  wattline status --workgroup home --json
  wattline status --devices offline`;
