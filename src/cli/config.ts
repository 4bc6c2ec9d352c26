import type { Command } from 'commander';
import { stringify } from 'yaml';
import { configWarnings } from '../config-warnings.ts';
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
      const warnings = configWarnings(effective);
      const shown = hideSecrets(effective);
      for (const { path, message } of warnings) printNote(command, terminal, `warning: ${path}: ${message}`);
      printNote(command, terminal, 'the configuration can be used; with all defaults it is:');
      printData(command, terminal, { config: shown, warnings }, () => stringify(shown, { lineWidth: 0 }));
    });
}

const checkHelp = `
Prints the effective configuration as YAML (durations in milliseconds, energy in Wh, power in W, secrets hidden), after
the environment and the defaults. With problems it prints every one with its path, and the exit code is 2;
warnings name what is allowed and hardly meant, with what to change.

Examples:
  wattline config check
  wattline config check --config site.yaml --json | jq .config.workgroups`;
