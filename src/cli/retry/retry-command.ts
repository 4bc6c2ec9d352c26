import type { Command } from 'commander';
import { findDevice } from '../../config/find-device.ts';
import { InputError } from '../../lib/errors.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { runTask } from '../run-service.ts';
import { printData } from '../terminal/output.ts';

export function addRetryCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('retry')
    .description('compute again the energy of series that were set aside')
    .argument('[device]', 'only those of this device: its id, or the name that it is configured with')
    .option('-w, --workgroup <id>', 'the workgroup; needed where there are several')
    .addHelpText('after', help)
    .action((device: string | undefined, options: { workgroup?: string }) =>
      runTask(command, terminal, async (config, service) => {
        const { findOwner } = await import('../../service/find-owner.ts');
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const id = device === undefined ? undefined : findDevice(workgroup, device);
        if (device !== undefined && id === undefined) {
          const message = `"${device}" is neither a device id (a UUID) nor a configured name of workgroup ${workgroup.id}`;
          throw new InputError('the command line', [{ path: 'device', message }]);
        }
        const owner = await findOwner(config, workgroup, service);
        try {
          const { series } = await owner.ask('retry', { ...(id && { device: id }) });
          while (series > 0 && (await owner.followUp()) && !service.signal.aborted);
          printData(command, terminal, { series }, () => describe(series));
        } finally {
          await owner.close();
        }
      }),
    );
}

function describe(series: number): string {
  if (series === 0) return 'no series is set aside\n';
  return `${series === 1 ? 'one series is' : `${series} series are`} tried again; "wattline status" names those that fail again\n`;
}

const help = `
A series is a field of a device and source. One with which the roll-up fails is set aside, so that it does not hold the others up: its readings
are kept, its days are flagged unavailable, and "wattline status" says what failed. Another version of Wattline and other settings of its stream
try it again by themselves; this command does it at once, as after a repair of the data.

Examples:
  wattline retry
  wattline retry garage --workgroup home`;
