import { type Command, Option } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { configWarnings } from '../../config/config-warnings.ts';
import { openLedger } from '../../exports/export-ledger.ts';
import { TerminalError, TransientError } from '../../lib/errors.ts';
import {
  DAY_MS,
  formatInstant,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  systemClock,
  type UtcMs,
} from '../../lib/time.ts';
import { tellFailure } from '../../pipeline/failure-words.ts';
import { describeTrouble, type Trouble } from '../../pipeline/trouble.ts';
import {
  emptyStatus,
  isFresh,
  readStatuses,
  type StatusStage,
  type WorkgroupStatus,
} from '../../pipeline/workgroup-status.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { type ExportState, exportNotes, exportState } from '../exports/exports-view.ts';
import { readConfig } from '../global-options.ts';
import { FAILING_CODE } from '../terminal/exit-codes.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';
import {
  describeImport,
  describeNewestImport,
  type ListedImport,
  type ListedNewestImport,
  listImports,
  listNewestImports,
} from './status-imports.ts';
import { withLag } from './status-lag.ts';

/** What a workgroup's worker wrote down, and whether it still writes. */
interface ListedStatus extends Omit<WorkgroupStatus, 'imports' | 'troubles'> {
  imports: ListedImport[];
  /** The newest imports that count, and what became of them. */
  newestImports: ListedNewestImport[];
  state: 'running' | 'stopped' | 'failing' | 'never run';
  /** The largest lag of its stages: what one that fails has not done since it last ended well counts. */
  lagSeconds?: number | undefined;
  troubles: Trouble[];
  /** How its exports went. */
  exports: ExportState[];
}

const stages: readonly StatusStage[] = ['poll', 'rollup', 'publish', 'maintain'];

export function addStatusCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .description('show how far each workgroup is, and what is wrong')
    .option('-w, --workgroup <id>', 'only this workgroup')
    .addOption(
      new Option(
        '-d, --devices [state]',
        'the devices instead, with since when they are online or offline; or only those in a state',
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
      const statuses = await listStatuses(config, systemClock.now(), workgroup);
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

/** @throws InputError where there is no such workgroup */
function chooseWorkgroups(config: Config, only: string | undefined): WorkgroupConfig[] {
  return only === undefined && config.workgroups.length > 1
    ? config.workgroups
    : [chooseWorkgroup(config, only)];
}

/** @throws InputError where there is no such workgroup, TransientError where no worker has written anything yet */
async function listStatuses(config: Config, nowMs: UtcMs, only: string | undefined): Promise<ListedStatus[]> {
  const written = new Map(readStatuses(config.dataDir).map((status) => [status.workgroupId, status]));
  const chosen = chooseWorkgroups(config, only);
  const imports = new Map<string, ListedImport[]>();
  const newest = new Map<string, ListedNewestImport[]>();
  const unreadable = new Map<string, Trouble>();
  for (const workgroup of chosen) {
    const { id } = workgroup;
    try {
      imports.set(id, await listImports(config, workgroup, written.get(id)?.imports ?? []));
      newest.set(id, await listNewestImports(config, workgroup));
    } catch (error) {
      // What is wrong with one warehouse is told, and keeps nobody from hearing of the others.
      if (!(error instanceof TerminalError)) throw error;
      unreadable.set(id, notOpen(id, error, nowMs));
      imports.set(id, []);
      newest.set(id, []);
    }
  }
  const isEmpty = (id: string) => imports.get(id)!.length === 0 && newest.get(id)!.length === 0;
  if (chosen.every(({ id }) => !written.has(id) && !unreadable.has(id) && isEmpty(id))) {
    throw new TransientError(
      'NothingRuns',
      `no worker has run on ${config.dataDir} yet; start one with "wattline up"`,
    );
  }
  return chosen.map(({ id: workgroupId }) => {
    const status = written.get(workgroupId);
    const open = imports.get(workgroupId)!;
    const newestImports = newest.get(workgroupId)!;
    const place = `workgroups.${config.workgroups.findIndex(({ id }) => id === workgroupId)}.`;
    const warnings = configWarnings(config).filter(({ path }) => path.startsWith(place));
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
        troubles: [unreadable.get(workgroupId) ?? []].flat(),
        state: 'never run',
      };
    }
    const isRunning = isFresh(status, nowMs);
    // What a worker that has ended wrote last is no state of now.
    const own = isRunning ? (status.troubles ?? []) : [];
    const troubles = own.length > 0 ? own : [unreadable.get(workgroupId) ?? []].flat();
    const isFailing = troubles.length > 0 || stages.some((stage) => status[stage].lastError);
    return {
      ...status,
      ...(isRunning ? withLag(status, nowMs) : { lagSeconds: status.poll.lagSeconds }),
      troubles,
      imports: open,
      newestImports,
      exports,
      problems: [...status.problems, ...warnings],
      state: isRunning ? (isFailing ? 'failing' : 'running') : 'stopped',
    };
  });
}

/** Where no worker says it: data that nobody could open. */
function notOpen(workgroupId: string, error: TerminalError, nowMs: UtcMs): Trouble {
  const { message } = tellFailure(error);
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

/** In the largest unit of which there are two or more. */
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
Lag is how many messages the warehouse is behind the head of the stream, where that is known. Lag s is how many seconds the stages are behind:
while one fails, the time since it last ended well. A line that begins with failing names a workgroup that is not worked on as it should be, the
stage, what is wrong and what to do: a stage that has failed for minutes, is due and does not end well, or is not called, and data that cannot
be opened. The exit code is 4 then. State is stopped where no worker has
written for half a minute. By is how the stream was read last: over REST, or over a socket where upstream.transport asks for one. A problem is a place in the configuration, what is wrong there, and what to change: what config check warns of, and
what the data say against it, looked for every pipeline.maintainEvery. Works while the worker runs and afterwards.

Imports that are under way, were stopped or were given up are shown with what to do. So are the newest three of the last week that count, with
the readings and the energy that came of them, or with a warning where none came.

Online and Offline count devices by what was last said of them: by whoever reports them, or, with stream.deviceTimeout, by their silence.

Examples:
  wattline status
  wattline status --workgroup home --json
  wattline status --devices offline`;
