import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { Config } from '../../config/config.ts';
import { configWarnings } from '../../config/config-warnings.ts';
import { hideSecrets } from '../../config/hide-secrets.ts';
import type { Problem } from '../../lib/errors.ts';
import { formatInstant } from '../../lib/time.ts';
import { readStatuses } from '../../pipeline/workgroup-status.ts';
import { requireSharedStorage, sharingWarnings } from '../../service/require-shared-storage.ts';
import type { Terminal } from '../../service/terminal.ts';
import { readConfig } from '../read-config.ts';
import { printData, printNote } from '../terminal/output.ts';
import { describeSuggestions, suggestedRoles } from './config-roles.ts';
import { withUnits } from './with-units.ts';

export function addConfigCommand(program: Command, terminal: Terminal): void {
  const config = program.command('config').description('check the configuration');
  config
    .command('check')
    .description('list all problems of the configuration, or print it with all defaults')
    .addHelpText('after', checkHelp)
    .action(async (_options, command: Command) => {
      const effective = readConfig(command, terminal);
      requireSharedStorage(effective, allRoles);
      const warnings = [
        ...configWarnings(effective),
        ...sharingWarnings(effective, allRoles),
        ...dataProblems(effective),
      ];
      const shown = hideSecrets(effective);
      for (const { path, message } of warnings) printNote(command, terminal, `warning: ${path}: ${message}`);
      const roles = await suggestedRoles(effective);
      for (const suggestions of roles) printNote(command, terminal, describeSuggestions(suggestions));
      printNote(command, terminal, 'the configuration is valid; with all defaults it is:');
      printData(command, terminal, { config: shown, warnings, suggestedRoles: roles }, () =>
        stringify(withUnits(shown), { lineWidth: 0 }),
      );
    });
}

/** The check does not know which roles will run. */
const allRoles = ['stream', 'worker', 'report'] as const;

/** Problems that a worker found in the data, as `status` shows them. */
function dataProblems({ dataDir, workgroups }: Config): Problem[] {
  return readStatuses(dataDir)
    .filter(({ workgroupId }) => workgroups.some(({ id }) => id === workgroupId))
    .flatMap(({ problems, updatedAtMs }) =>
      problems.map(({ path, message }) => ({
        path,
        message: `${message} (found in the data at ${formatInstant(updatedAtMs)})`,
      })),
    );
}

const checkHelp = `
Prints the effective configuration as YAML, with environment variables and defaults, without secrets. With --json durations are in
milliseconds, energy is in Wh and power in W. If the configuration has problems, all are printed with their paths, and the exit code is 2.
Warnings name allowed settings that are probably wrong, and problems that a worker found in the data (see "wattline status"). For sources without
a role it prints a block to paste, with the roles that their names suggest. The command changes nothing.

Examples:
  wattline config check
  wattline config check --config site.yaml --json | jq .config.workgroups`;
