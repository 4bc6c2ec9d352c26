import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { Config } from '../../config/config.ts';
import { configWarnings } from '../../config/config-warnings.ts';
import { hideSecrets } from '../../config/hide-secrets.ts';
import type { Problem } from '../../lib/errors.ts';
import { formatInstant } from '../../lib/time.ts';
import { formatDuration } from '../../lib/units.ts';
import { readStatuses } from '../../pipeline/workgroup-status.ts';
import type { Terminal } from '../../service/terminal.ts';
import { readConfig } from '../global-options.ts';
import { printData, printNote } from '../terminal/output.ts';
import { describeSuggestions, suggestedRoles } from './config-roles.ts';

export function addConfigCommand(program: Command, terminal: Terminal): void {
  const config = program.command('config').description('look at the configuration');
  config
    .command('check')
    .description('find everything that is wrong with the configuration, or print what it comes to')
    .addHelpText('after', checkHelp)
    .action(async (_options, command: Command) => {
      const effective = readConfig(command, terminal);
      const warnings = [...configWarnings(effective), ...dataProblems(effective)];
      const shown = hideSecrets(effective);
      for (const { path, message } of warnings) printNote(command, terminal, `warning: ${path}: ${message}`);
      const roles = await suggestedRoles(effective);
      for (const one of roles) printNote(command, terminal, describeSuggestions(one));
      printNote(command, terminal, 'the configuration can be used; with all defaults it is:');
      printData(command, terminal, { config: shown, warnings, suggestedRoles: roles }, () =>
        stringify(shown, withUnit, { lineWidth: 0 }),
      );
    });
}

/** What the data said against the configuration when a worker last looked, as `status` has it. */
function dataProblems({ dataDir, workgroups }: Config): Problem[] {
  return readStatuses(dataDir)
    .filter(({ workgroupId }) => workgroups.some(({ id }) => id === workgroupId))
    .flatMap(({ problems, updatedAtMs }) =>
      problems.map(({ path, message }) => ({
        path,
        message: `${message} (so the data said by ${formatInstant(updatedAtMs)})`,
      })),
    );
}

/** Settings by the names that they have, in the units of a person. */
function withUnit(name: unknown, value: unknown): unknown {
  if (typeof value !== 'number') return value;
  if (name === 'maxPower') return `${value} W`;
  if (name === 'jitter') return `${value} Wh`;
  return durations.has(String(name)) ? formatDuration(value) : value;
}

const durations: ReadonlySet<string> = new Set([
  ...[
    'pollEvery',
    'rollupEvery',
    'publishEvery',
    'maintainEvery',
    'closeAfter',
    'keepMessages',
    'keepGenerations',
  ],
  ...['retention', 'deviceTimeout', 'tokenLifetime', 'maxGap', 'interval'],
]);

const checkHelp = `
Prints the effective configuration as YAML (with --json durations in milliseconds, energy in Wh, power in W), after the
environment and the defaults, secrets hidden. With problems it prints every one with its path, and the exit code is 2;
warnings name what is allowed and hardly meant, and what the data said against it when a worker
last looked (see wattline status), with what to change. Sources without a role are listed as a block
to paste, with what their names suggest and why; nothing of it is applied.

Examples:
  wattline config check
  wattline config check --config site.yaml --json | jq .config.workgroups`;
