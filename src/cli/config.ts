import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { Config } from '../config.ts';
import { hideSecrets } from './hide-secrets.ts';
import { readConfig } from './options.ts';
import { printData, printNote } from './output.ts';
import type { Terminal } from './terminal.ts';

export function addConfigCommand(program: Command, terminal: Terminal): void {
  const config = program.command('config').description('look at the configuration');
  config
    .command('check')
    .description('find everything that is wrong with the configuration, or print what it comes to')
    .addHelpText('after', checkHelp)
    .action((_options, command: Command) => {
      const effective = readConfig(command, terminal);
      const warnings = warningsOf(effective);
      const shown = hideSecrets(effective);
      for (const warning of warnings) printNote(command, terminal, `note: ${warning}`);
      printNote(command, terminal, 'the configuration has no problems; with all defaults it is:');
      printData(command, terminal, { config: shown, warnings }, () => stringify(shown, { lineWidth: 0 }));
    });
}

/** What is allowed and yet hardly meant. */
function warningsOf({ workgroups }: Config): string[] {
  if (workgroups.length === 0) return ['no workgroup is configured, so there is nothing to work on'];
  return workgroups
    .filter(({ energyStreams }) => energyStreams.length === 0)
    .map(({ id }) => `workgroup "${id}" has no energyStreams, so no energy is computed for it`);
}

const checkHelp = `
Prints the effective configuration as YAML (durations in milliseconds, energy in Wh, power in W, secrets hidden), after
the environment and the defaults. With problems it prints every one with its path, and the exit code is 2.

Examples:
  wattline config check
  wattline config check --config site.yaml --json | jq .config.workgroups`;
