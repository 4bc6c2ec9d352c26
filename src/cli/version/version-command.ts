import type { Command } from 'commander';
import { programVersion } from '../../lib/program-version.ts';
import type { Terminal } from '../../service/terminal.ts';
import { printData } from '../terminal/output.ts';

export function addVersionCommand(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version')
    .action((_options, command: Command) => {
      const facts = { version: programVersion, node: process.versions.node };
      printData(command, terminal, facts, () => `wattline ${programVersion}\n`);
    });
}
