import type { Command } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import type { Explained } from '../../explain/explained-schema.ts';
import { InputError, TerminalError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { addDays, type Clock, isLocalDate, type LocalDate, localDateOf } from '../../lib/time.ts';
import { assignmentOf } from '../../pipeline/assignment.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
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
    .description('show what the energy of a device on a day follows from')
    .argument('<device>', 'its id, or the name that it is configured with')
    .argument('<day>', "YYYY-MM-DD in the workgroup's time zone, today or yesterday")
    .option('-s, --source <name>', 'only this source of the device')
    .option('-w, --workgroup <id>', 'the workgroup of the device; needed where there are several')
    .option('--all', 'show every reading, however many there are')
    .addHelpText('after', help)
    .action((device: string, day: string, options: ExplainCommandOptions) =>
      runTask(command, terminal, async (config, { logger, clock }) => {
        const { describeExplained } = await import('./explain-view.ts');
        const { findDevice } = await import('../../config/find-device.ts');
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const id = findDevice(workgroup, device);
        if (id === undefined) throw unnamedDevice(workgroup, device);
        const args = { device: id, day: dayOf(day, workgroup, clock), source: options.source };
        const explained = await askOrRead(config, workgroup, args, { logger, clock });
        if (explained.outcome === 'unknown_device')
          throw new TerminalError(
            'UnknownDevice',
            `device "${device}" of workgroup ${workgroup.id}: ${explained.text}${namesOf(workgroup)}`,
          );
        printData(command, terminal, explained, (_, shown) =>
          describeExplained(shown, { all: options.all ?? false }),
        );
      }),
    );
}

/** Asks the process that has the warehouse open; where none has, reads it. */
async function askOrRead(
  config: Config,
  workgroup: WorkgroupConfig,
  args: { device: string; day: LocalDate; source: string | undefined },
  { logger, clock }: { logger: Logger; clock: Clock },
): Promise<Explained> {
  const { createControl } = await import('../../worker-rpc/worker-rpc.ts');
  const outcome = await createControl(config.dataDir).ask(workgroup.id, 'explain', args);
  switch (outcome.kind) {
    case 'answer':
      return outcome.answer;
    case 'failed':
      throw outcome.error;
    case 'not-running': {
      logger.debug({ shard: workgroup.id }, 'explain.read');
      const { explainClosed } = await import('../../pipeline/offline-operations.ts');
      return explainClosed(assignmentOf(config, workgroup), args, clock);
    }
    default:
      return outcome satisfies never;
  }
}

function dayOf(text: string, { timezone }: WorkgroupConfig, clock: Clock): LocalDate {
  const today = localDateOf(clock.now(), timezone);
  if (text === 'today') return today;
  if (text === 'yesterday') return addDays(today, -1);
  if (isLocalDate(text)) return text;
  throw new InputError('the command line', [
    {
      path: 'day',
      message: `"${text}" is no day that exists; write it as ${today}, or say today or yesterday`,
    },
  ]);
}

function unnamedDevice(workgroup: WorkgroupConfig, device: string): InputError {
  const message = `"${device}" is neither a device id (a UUID) nor a configured name of workgroup ${workgroup.id}${namesOf(workgroup)}`;
  return new InputError('the command line', [{ path: 'device', message }]);
}

function namesOf({ devices }: WorkgroupConfig): string {
  const names = devices.flatMap(({ name }) => (name === undefined ? [] : [name]));
  return names.length > 0 ? `; configured names are ${names.slice(0, 20).join(', ')}` : '';
}

const help = `
Shows the readings that were used and those that were not, with the reason; what happened to the register; its index where the day begins and
ends; the limits in force; why the day was read from this field; every version of it and what caused it; and the sum, written out. Works
while the service runs and while it does not. Times are those of the workgroup's zone. --json has everything that the page is made of.

Examples:
  wattline explain garage yesterday
  wattline explain 7c9e6679-7425-40de-944b-e07fc1f90ae7 2026-10-25 --source roof --all
  wattline explain garage 2026-10-25 --json | jq '.sources[].sum'`;
