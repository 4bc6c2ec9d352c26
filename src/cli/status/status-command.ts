import { type Command, Option } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { inputProblem } from '../../inputs/input-problem.ts';
import { TransientError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import { formatInstant, systemClock, type UtcMs } from '../../lib/time.ts';
import { stages, type WorkgroupState } from '../../operate/workgroup-state.ts';
import { describeTrouble } from '../../pipeline/trouble.ts';
import type { LakeFillState } from '../../replica/start-lake-fill.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { exportNotes } from '../exports/exports-view.ts';
import { askInputStates, describeInputProblem } from '../inputs/inputs-view.ts';
import { readConfig } from '../read-config.ts';
import { failing } from '../terminal/failing.ts';
import { formatAgo } from '../terminal/format-ago.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData, printNote } from '../terminal/output.ts';
import { askConfigStates, describeConfigStates, streamUrl } from './status-config.ts';
import {
  describeImport,
  describeNewestImport,
  type ListedNewestImport,
  withWarnings,
} from './status-imports.ts';
import { type Asking, readStates } from './status-states.ts';

/** The state of a workgroup, with the problems of its imports. */
interface ListedStatus extends Omit<WorkgroupState, 'newestImports'> {
  newestImports: ListedNewestImport[];
}

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
      for (const input of await askInputStates(config.dataDir)) {
        // A lasting problem is a trouble of its workgroup, below.
        if (inputProblem(input, systemClock.now())) continue;
        for (const note of describeInputProblem(input)) printNote(command, terminal, note);
      }
      const { openControl } = await import('../../service/open-control.ts');
      const control = openControl(config, { logger: silentLogger });
      const asking = { control, ownUrl: streamUrl(processes) };
      const statuses = await listStatuses(config, workgroup, asking).finally(control.close);
      printData(command, terminal, statuses, (columnsMax, shown) =>
        describe(shown, systemClock.now(), columnsMax),
      );
      const troubles = statuses.flatMap((status) => status.troubles);
      if (troubles.length > 0) throw failing(troubles);
    });
}

type DeviceFilter = true | 'online' | 'offline' | 'unknown';

/** @throws InputError if the workgroup does not exist */
function chooseWorkgroups(config: Config, only: string | undefined): WorkgroupConfig[] {
  return only === undefined && config.workgroups.length > 1
    ? config.workgroups
    : [chooseWorkgroup(config, only)];
}

/**
 * @throws InputError if the workgroup does not exist, TransientError if no worker has written a status yet
 */
async function listStatuses(
  config: Config,
  only: string | undefined,
  asking: Asking,
): Promise<ListedStatus[]> {
  const chosen = chooseWorkgroups(config, only);
  const states = await readStates(config, chosen, asking, { withEffects: true });
  if (states.every(isUnknown))
    throw new TransientError(
      'NothingRuns',
      `no worker has run on ${config.dataDir} yet; start one with "wattline up"`,
    );
  return states.map((state, index) => ({
    ...state,
    newestImports: withWarnings(state.newestImports, chosen[index]!),
  }));
}

function isUnknown({ state, troubles, imports, newestImports }: WorkgroupState): boolean {
  return state === 'never run' && [troubles, imports, newestImports].every(({ length }) => length === 0);
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
  const fills = statuses.flatMap(({ workgroupId, bucket }) =>
    bucket?.fill ? [`copying: ${workgroupId}, ${describeFill(bucket.fill)}\n`] : [],
  );
  return [
    formatTable(columnsAt(nowMs, statuses), statuses, columnsMax),
    ...(fills.length > 0 ? ['\n', ...fills] : []),
    ...(failing.length > 0 ? ['\n', ...failing] : []),
    ...(problems.length > 0 ? ['\n', ...problems] : []),
    ...(imports.length > 0 ? ['\n', ...imports] : []),
    ...(exports.length > 0 ? ['\n', ...exports] : []),
    ...(errors.length > 0 ? ['\nLast errors\n', ...errors] : []),
  ].join('');
}

/** The copy of the files of a lake after a takeover. */
function describeFill({ missingFiles, error }: LakeFillState): string {
  const files = missingFiles === undefined ? 'files' : `${missingFiles.toLocaleString('en')} files`;
  const failed = error === undefined ? '' : `; the last attempt failed: ${error}`;
  return `${files} of its lake are still only in the bucket, and reports read them there${failed}`;
}

function columnsAt(nowMs: UtcMs, statuses: readonly ListedStatus[]) {
  const count = (value: number | undefined) => (value === undefined ? '-' : value.toLocaleString('en'));
  const ago = (ms: UtcMs | undefined) => formatAgo(ms, nowMs);
  const right = 'right' as const;
  const hasBucket = statuses.some(({ bucket }) => bucket !== undefined);
  return [
    { title: 'Workgroup', value: (one: ListedStatus) => one.workgroupId },
    { title: 'State', value: (one: ListedStatus) => one.state },
    ...(hasBucket
      ? [
          { title: 'Machine', value: (one: ListedStatus) => one.machine ?? '-' },
          {
            title: 'In bucket',
            value: (one: ListedStatus) => ago(one.bucket?.lastCommitAtMs),
            align: right,
          },
        ]
      : []),
    { title: 'Checkpoint', value: (one: ListedStatus) => one.poll.nextOffset ?? '-' },
    { title: 'Lag', value: (one: ListedStatus) => count(one.poll.lagMessages), align: right },
    { title: 'Lag s', value: (one: ListedStatus) => count(one.lagSeconds), align: right },
    { title: 'By', value: (one: ListedStatus) => one.poll.transport ?? '-' },
    { title: 'Polled', value: (one: ListedStatus) => ago(one.poll.lastSuccessAtMs), align: right },
    { title: 'Rolled up', value: (one: ListedStatus) => ago(one.rollup.lastSuccessAtMs), align: right },
    { title: 'Generation', value: (one: ListedStatus) => count(one.publish.generation), align: right },
    { title: 'Online', value: (one: ListedStatus) => count(one.devices?.online), align: right },
    { title: 'Offline', value: (one: ListedStatus) => count(one.devices?.offline), align: right },
    ...(statuses.some(({ devices }) => devices?.asleep)
      ? [{ title: 'Asleep', value: (one: ListedStatus) => count(one.devices?.asleep), align: right }]
      : []),
    { title: 'Gaps', value: (one: ListedStatus) => count(one.gaps), align: right },
    { title: 'Quarantine', value: (one: ListedStatus) => count(one.quarantined), align: right },
  ];
}

const help = `
Lag is the number of messages between the warehouse and the end of the stream, if known. "Lag s" is the delay of the stages in seconds. While a
stage fails, it is the time since its last success. If no worker reports the lag, the command asks the stream; "-" means unknown. State is "stopped" if its worker
has ended, or has not written for half a minute, and "hibernated" if its warehouse is closed because there is nothing to do: a message, a request or a
schedule opens it. "By" says how the stream was last read: over REST, or over a socket (upstream.transport).

A line that begins with "failing" names a workgroup, a stage, the problem, and what to do. A stage is listed if it fails for minutes, if it is
due without success, or if it is not called. Data that cannot be opened is listed too, and an MQTT broker that is not connected for half a
minute, or that the running service does not know. The exit code is then 4. A line that begins with "problem" names a
setting, the problem, and what to change. The worker looks for problems in the data every pipeline.maintainEvery. The command works with and
without a running worker.

With storage.s3, "Machine" is the machine that opened the workgroup last, and "In bucket" is the time at which the bucket last had all data of
that machine. On another machine, the command asks the worker of the workgroup. A line that begins with "copying" shows that a machine has taken a workgroup over, and still
copies the files of its lake in the background.

A note that begins with "input" names an MQTT broker that cannot be used at this moment, and why. "wattline inputs" lists all inputs.

Unfinished imports are listed with what to do. The three newest imports of the last week are listed with their readings and their energy, or
with a warning if they gave no energy.

Online and Offline count devices by their last reported state. With stream.deviceTimeout, silent devices are offline. "Asleep" counts devices
that went to sleep less than a day ago; they are not offline.

Examples:
  wattline status
  wattline status --workgroup home --json
  wattline status --devices offline`;
