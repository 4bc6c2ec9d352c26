import type { Command } from 'commander';
import { TransientError } from '../../lib/errors.ts';
import type { Terminal } from '../../service/terminal.ts';
import type { ConfigReloaded } from '../../worker-rpc/process-rpc.ts';
import { readConfig } from '../read-config.ts';
import { printData } from '../terminal/output.ts';

export function addReloadCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('reload')
    .description('apply changed workgroups, exports and alerts of the configuration to the running service')
    .addHelpText('after', help)
    .action(async () => {
      const { dataDir } = readConfig(command, terminal);
      const { askProcesses } = await import('../../worker-rpc/process-rpc.ts');
      const answers = await askProcesses(dataDir, 'reload');
      if (answers.length === 0)
        throw new TransientError(
          'NothingRuns',
          `no service runs on ${dataDir} on this machine; start one with "wattline up"`,
        );
      const reloaded = answers.flatMap(({ processId, roles, outcome }) =>
        outcome.kind === 'answer' ? [{ processId, roles, ...outcome.answer }] : [],
      );
      printData(command, terminal, reloaded, (_, shown) => shown.map(describe).join(''));
      for (const { outcome } of answers) if (outcome.kind === 'failed') throw outcome.error;
    });
}

function describe({
  processId,
  roles,
  added,
  changed,
  removed,
  alerts,
  needRestart,
}: ConfigReloaded & { processId: number; roles: string[] }): string {
  const facts = [
    ...(added.length > 0 ? [`added ${listOf(added)}`] : []),
    ...(changed.length > 0 ? [`changed ${listOf(changed)}`] : []),
    ...(removed.length > 0 ? [`removed ${listOf(removed)}`] : []),
    ...(alerts ? ['changed the alerts'] : []),
  ];
  const restart =
    needRestart.length > 0 ? `  not applied, because a change needs a restart: ${listOf(needRestart)}\n` : '';
  return `process ${processId} (${roles.join(', ')}): ${facts.join('; ') || 'no workgroup has changed'}\n${restart}`;
}

const LISTED_MAX = 20;

function listOf(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return `${names.slice(0, LISTED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const help = `
Every process of the service on this machine that works on dataDir reads its configuration again. It adds, changes and removes workgroups,
exports and alerts. Other workgroups continue without interruption. The data of a removed workgroup is kept. Other settings need a restart;
changed ones are listed. If the configuration has problems, nothing changes, all problems are printed with their paths, and the exit code is 2.
SIGHUP does the same in one process, and the log has the result.

Examples:
  wattline reload
  wattline reload --json`;
