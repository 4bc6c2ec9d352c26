import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { readConfig } from './options.ts';
import { notAvailable } from './service.ts';
import type { Terminal } from './terminal.ts';

export interface StatusOptions {
  workgroup?: string;
  json: boolean;
}

export function addStatusCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .description('show how far each workgroup is, and what is wrong')
    .option('-w, --workgroup <id>', 'only this workgroup')
    .addHelpText('after', help)
    .action((options: { workgroup?: string }) => {
      const json = command.optsWithGlobals<{ json?: boolean }>().json ?? false;
      return runStatus(readConfig(command, terminal), { ...options, json }, terminal);
    });
}

/** Prints the state of the workgroups. @throws TransientError where nothing runs that could tell */
export async function runStatus(
  _config: Config,
  _options: StatusOptions,
  _terminal: Terminal,
): Promise<void> {
  throw notAvailable('status');
}

const help = `
Examples:
  wattline status
  wattline status --workgroup home --json`;
