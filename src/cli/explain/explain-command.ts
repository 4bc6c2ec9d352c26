import type { Command } from 'commander';
import type { WorkgroupConfig } from '../../config/config.ts';
import { TerminalError } from '../../lib/errors.ts';
import { addDays, type Clock, isLocalDate, type LocalDate, localDateOf } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseDevice, deviceNames } from '../choose-device.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData } from '../terminal/output.ts';

interface ExplainCommandOptions {
  source?: string;
  workgroup?: string;
  all?: boolean;
}

export function addExplainCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('explain')
    .description('show how the energy of a device on a day was computed')
    .argument('<device>', 'its id or its configured name')
    .argument('<day>', "YYYY-MM-DD in the workgroup's time zone, today or yesterday")
    .option('-s, --source <name>', 'only this source of the device')
    .option(...WORKGROUP_OPTION)
    .option('--all', 'show all readings')
    .addHelpText('after', help)
    .action((device: string, day: string, options: ExplainCommandOptions) =>
      runTask(command, terminal, async (config, { logger, clock }) => {
        const { describeExplained } = await import('./explain-view.ts');
        const { askOrRead } = await import('../../service/ask-or-read.ts');
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const id = chooseDevice(workgroup, device);
        const args = { device: id, day: dayOf(day, workgroup, clock), source: options.source };
        const explained = await askOrRead(
          config,
          workgroup,
          { logger, clock },
          'explain',
          args,
          async (assignment) => {
            logger.debug({ workgroup: workgroup.id }, 'explain.read');
            const { explainClosed } = await import('../../pipeline/offline-operations.ts');
            return explainClosed(assignment, args, clock);
          },
        );
        if (explained.outcome === 'unknown_device')
          throw new TerminalError(
            'UnknownDevice',
            `device "${device}" of workgroup ${workgroup.id}: ${explained.text}${deviceNames(workgroup)}`,
          );
        printData(command, terminal, explained, (_, shown) =>
          describeExplained(shown, { all: options.all ?? false }),
        );
      }),
    );
}

/** A day of the command line, in the zone of the workgroup. @throws InputError if there is no such day */
export function dayOf(text: string, { timezone }: WorkgroupConfig, clock: Clock): LocalDate {
  const today = localDateOf(clock.now(), timezone);
  if (text === 'today') return today;
  if (text === 'yesterday') return addDays(today, -1);
  if (isLocalDate(text)) return text;
  throw commandLineError(
    'day',
    `"${text}" is not an existing day; write it as ${today}, or use today or yesterday`,
  );
}

const help = `
Shows the used readings, and the ignored readings with the reason. Also shows events of the register, its index at the beginning and the end
of the day, the limits, why the day was read from this field, each version with its cause, and the sum. The command works with and without a
running service. Times are in the workgroup's zone. --json prints all data of the page.

Examples:
  wattline explain garage yesterday
  wattline explain 7c9e6679-7425-40de-944b-e07fc1f90ae7 2026-10-25 --source roof --all
  wattline explain garage 2026-10-25 --json | jq '.sources[].sum'`;
