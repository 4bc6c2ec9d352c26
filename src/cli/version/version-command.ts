import type { Command } from 'commander';
import packageFile from '../../../package.json' with { type: 'json' };
import type { Terminal } from '../../service/terminal.ts';
import { printData } from '../terminal/output.ts';

export const version = packageFile.version;

export function addVersionCommand(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version')
    .action((_options, command: Command) => {
      printData(command, terminal, { version, node: process.versions.node }, () => `wattline ${version}\n`);
    });
}
