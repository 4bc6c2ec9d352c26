import type { Command } from 'commander';
import type { Terminal } from '../../service/terminal.ts';
import { chooseDevice } from '../choose-device.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { runTask } from '../run-service.ts';
import { printData } from '../terminal/output.ts';

export function addRetryCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('retry')
    .description('compute the energy of failed series again')
    .argument('[device]', 'only this device: its id or its configured name')
    .option(...WORKGROUP_OPTION)
    .addHelpText('after', help)
    .action((device: string | undefined, options: { workgroup?: string }) =>
      runTask(command, terminal, async (config, service) => {
        const { followUpAll } = await import('../../service/follow-up-all.ts');
        const { openOwner } = await import('../../service/open-owner.ts');
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const id = device === undefined ? undefined : chooseDevice(workgroup, device);
        const owner = await openOwner(config, workgroup, service);
        try {
          const { series } = await owner.ask('retry', { ...(id && { device: id }) });
          if (series > 0) await followUpAll(owner, service.signal);
          printData(command, terminal, { series }, () => describe(series));
        } finally {
          await owner.close();
        }
      }),
    );
}

function describe(series: number): string {
  if (series === 0) return 'no series has failed\n';
  return `${series === 1 ? 'one series is' : `${series} series are`} computed again; "wattline status" lists the series that fail again\n`;
}

const help = `
A series is a field of a device and source. If the roll-up fails for a series, it sets the series aside and continues with the others. The
readings are kept, the days get the flag "unavailable", and "wattline status" shows the error. After a change of the version of Wattline or of
the settings of the stream, the series is computed again. This command does that at once, for example after a repair of the data.

Examples:
  wattline retry
  wattline retry garage --workgroup home`;
