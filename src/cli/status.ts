import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { InputError, TransientError } from '../errors.ts';
import { emptyStatus, readStatuses, type StatusStage, type WorkgroupStatus } from '../pipeline/status.ts';
import { formatInstant, SECOND_MS, systemClock, type UtcMs } from '../time.ts';
import { readConfig } from './options.ts';
import { printData } from './output.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** What a workgroup's worker wrote down, and whether it still writes. */
interface ListedStatus extends WorkgroupStatus {
  state: 'running' | 'stopped' | 'failing' | 'never run';
}

/** A worker writes every second or so; after this nobody does. */
const SILENT_MS = 30 * SECOND_MS;
const stages: readonly StatusStage[] = ['poll', 'rollup', 'publish', 'maintain'];

export function addStatusCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .description('show how far each workgroup is, and what is wrong')
    .option('-w, --workgroup <id>', 'only this workgroup')
    .addHelpText('after', help)
    .action(({ workgroup }: { workgroup?: string }) => {
      const statuses = listStatuses(readConfig(command, terminal), systemClock.now(), workgroup);
      printData(command, terminal, statuses, () => describe(statuses, systemClock.now()));
    });
}

/** @throws InputError where there is no such workgroup, TransientError where no worker has written anything yet */
function listStatuses(config: Config, nowMs: UtcMs, only: string | undefined): ListedStatus[] {
  const written = new Map(readStatuses(config.dataDir).map((status) => [status.workgroupId, status]));
  const ids = config.workgroups.map(({ id }) => id).filter((id) => only === undefined || id === only);
  if (ids.length === 0) {
    const missing = only === undefined ? 'no workgroup is configured' : `"${only}" is not configured`;
    throw new InputError('the question', [{ path: '--workgroup', message: missing }]);
  }
  if (ids.every((id) => !written.has(id))) {
    throw new TransientError(
      'NothingRuns',
      `no worker has run on ${config.dataDir} yet; start one with "wattline up"`,
    );
  }
  return ids.map((workgroupId) => {
    const status = written.get(workgroupId);
    if (!status) return { ...emptyStatus(workgroupId, 0), state: 'never run' };
    const isFailing = stages.some((stage) => status[stage].lastError);
    return {
      ...status,
      state: nowMs - status.updatedAtMs > SILENT_MS ? 'stopped' : isFailing ? 'failing' : 'running',
    };
  });
}

function describe(statuses: readonly ListedStatus[], nowMs: UtcMs): string {
  const errors = statuses.flatMap((status) =>
    stages.flatMap((stage) => {
      const { lastError } = status[stage];
      return lastError
        ? [`${status.workgroupId}, ${stage} at ${formatInstant(lastError.atMs)}: ${lastError.message}\n`]
        : [];
    }),
  );
  const table = formatTable(columnsAt(nowMs), statuses);
  return errors.length > 0 ? `${table}\nLast errors\n${errors.join('')}` : table;
}

function columnsAt(nowMs: UtcMs) {
  const count = (value: number | undefined) => (value === undefined ? '-' : value.toLocaleString('en'));
  const ago = (ms: UtcMs | undefined) =>
    ms === undefined ? '-' : `${Math.max(0, Math.round((nowMs - ms) / 1_000))} s ago`;
  const right = 'right' as const;
  return [
    { title: 'Workgroup', value: (one: ListedStatus) => one.workgroupId },
    { title: 'State', value: (one: ListedStatus) => one.state },
    { title: 'Checkpoint', value: (one: ListedStatus) => one.poll.nextOffset ?? '-' },
    { title: 'Lag', value: (one: ListedStatus) => count(one.poll.lagMessages), align: right },
    { title: 'Lag s', value: (one: ListedStatus) => count(one.poll.lagSeconds), align: right },
    { title: 'Polled', value: (one: ListedStatus) => ago(one.poll.lastSuccessAtMs), align: right },
    { title: 'Rolled up', value: (one: ListedStatus) => ago(one.rollup.lastSuccessAtMs), align: right },
    { title: 'Generation', value: (one: ListedStatus) => count(one.publish.generation), align: right },
    { title: 'Gaps', value: (one: ListedStatus) => count(one.gaps), align: right },
    { title: 'Quarantine', value: (one: ListedStatus) => count(one.quarantined), align: right },
  ];
}

const help = `
Lag is how many messages, and how many seconds, the warehouse is behind the head of the stream. State is stopped where no worker has
written for half a minute. Works while the worker runs and afterwards.

Examples:
  wattline status
  wattline status --workgroup home --json`;
