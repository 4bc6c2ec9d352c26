import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config.ts';
import { isLocalDate, type LocalDate } from '../time.ts';
import { notAvailable, runService, type Service } from './service.ts';
import type { Terminal } from './terminal.ts';

export interface ReplayOptions {
  from?: LocalDate;
  to?: LocalDate;
}

export function addReplayCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('replay')
    .description('compute the energy of a workgroup again from the messages that are kept')
    .argument('<workgroup>', 'its id')
    .option('--from <day>', 'the first day, YYYY-MM-DD (default: the first there is)', parseDay)
    .option('--to <day>', 'the last day, YYYY-MM-DD (default: today)', parseDay)
    .addHelpText('after', help)
    .action((workgroupId: string, options: ReplayOptions) =>
      runService(command, terminal, (config, service) => runReplay(config, workgroupId, options, service)),
    );
}

/** Computes days again; what comes out the same gets no new version. */
export async function runReplay(
  _config: Config,
  _workgroupId: string,
  _options: ReplayOptions,
  _service: Service,
): Promise<void> {
  throw notAvailable('replay');
}

function parseDay(text: string): LocalDate {
  if (!isLocalDate(text)) throw new InvalidArgumentError('Use a day such as 2026-11-20.');
  return text;
}

const help = `
Examples:
  wattline replay home
  wattline replay home --from 2026-10-01 --to 2026-10-31`;
