import { type Command, Option } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { inputProblem } from '../../inputs/input-problem.ts';
import { TransientError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemClock } from '../../lib/time.ts';
import type { WorkgroupState } from '../../operate/workgroup-state.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { askInputStates } from '../inputs/ask-inputs.ts';
import { describeInputProblem } from '../inputs/inputs-view.ts';
import { readConfig } from '../read-config.ts';
import { failing } from '../terminal/failing.ts';
import { printData, printNote } from '../terminal/output.ts';
import { askConfigStates, describeConfigStates, streamUrl } from './status-config.ts';
import { withWarnings } from './status-imports.ts';
import { type Asking, readStates } from './status-states.ts';
import { describeStatuses, type ListedStatus } from './status-view.ts';

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
        describeStatuses(shown, systemClock.now(), columnsMax),
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
