import type { Command } from 'commander';
import { programVersion } from '../program-version.ts';
import { printData } from './output.ts';
import type { Terminal } from './terminal.ts';

export const version = programVersion;

export function addVersionCommand(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version')
    .action((_options, command: Command) => {
      printData(command, terminal, { version, node: process.versions.node }, () => `wattline ${version}\n`);
    });
}
