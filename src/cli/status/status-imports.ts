import type { Config, WorkgroupConfig } from '../../config/config.ts';
import type { ImportSummary } from '../../import/import-summary.ts';
import type { LandedImport } from '../../import/newest-imports.ts';
import { TransientError } from '../../lib/errors.ts';
import { formatInstant, SECOND_MS, systemClock } from '../../lib/time.ts';
import { assignmentOf } from '../../pipeline/assignment.ts';
import { importsClosed, importsNewestClosed } from '../../pipeline/offline-operations.ts';
import type { UnfinishedImport } from '../../warehouse/shard-status.ts';
import type { AsJson } from '../../worker-rpc/rpc-wire.ts';
import type { Control } from '../../worker-rpc/worker-rpc.ts';
import { newsOfImport } from '../import/import-news.ts';
import { formatCount, formatKwh } from '../terminal/format-numbers.ts';

/** An unfinished import, and whether a process works on it. */
export interface ListedImport extends AsJson<UnfinishedImport> {
  /** The service works on it, or another process that has the warehouse open. */
  isUnderWay: boolean;
}

/** A process that does not answer in this time is busy. A workgroup that hibernates stays closed. */
const ASKED = { withinMs: 5 * SECOND_MS, wake: false };

/**
 * The unfinished imports of a workgroup, from the process that has the warehouse open, or else from the warehouse.
 * @param written the last status of a worker, used if neither can be asked
 */
export async function listImports(
  config: Config,
  workgroup: WorkgroupConfig,
  written: readonly UnfinishedImport[],
  control: Pick<Control, 'ask'>,
): Promise<ListedImport[]> {
  const asked = await control.ask(workgroup.id, 'status', undefined, ASKED);
  switch (asked.kind) {
    case 'answer': {
      const state = await control.ask(workgroup.id, 'importState', undefined, ASKED);
      const path = state.kind === 'answer' && state.answer.kind === 'running' ? state.answer.path : undefined;
      return asked.answer.imports.map((one) => ({
        ...one,
        isUnderWay: one.state === 'landing' && one.path === path,
      }));
    }
    case 'failed':
      return heldBySomebody(written);
    case 'not-running': {
      const assignment = assignmentOf(config, workgroup);
      try {
        const imports = await importsClosed(assignment, systemClock);
        return imports.map((one) => ({ ...one, isUnderWay: false }));
      } catch (error) {
        if (!(error instanceof TransientError)) throw error;
        return error.code === 'NoWarehouse' ? [] : heldBySomebody(written);
      }
    }
    default:
      return asked satisfies never;
  }
}

/** A finished import, with its problems. */
export interface ListedNewestImport extends LandedImport {
  warnings: string[];
}

/**
 * The newest finished imports and their effect, from the process that has the warehouse open, or else from the warehouse.
 * @returns empty if neither can be asked
 */
export async function listNewestImports(
  config: Config,
  workgroup: WorkgroupConfig,
  control: Pick<Control, 'ask'>,
): Promise<ListedNewestImport[]> {
  const newest = await askForNewest(config, workgroup, control);
  return newest.map((one) => ({
    ...one,
    warnings: newsOfImport(one.summary, workgroup, []).warnings,
  }));
}

async function askForNewest(
  config: Config,
  workgroup: WorkgroupConfig,
  control: Pick<Control, 'ask'>,
): Promise<LandedImport[]> {
  const asked = await control.ask(workgroup.id, 'importsNewest', undefined, ASKED);
  if (asked.kind === 'answer') return asked.answer;
  if (asked.kind === 'failed') return [];
  const assignment = assignmentOf(config, workgroup);
  try {
    return await importsNewestClosed(assignment, systemClock);
  } catch (error) {
    if (error instanceof TransientError) return [];
    throw error;
  }
}

function heldBySomebody(written: readonly UnfinishedImport[]): ListedImport[] {
  return written.map((one) => ({ ...one, isUnderWay: one.state === 'landing' }));
}

export function describeImport(workgroupId: string, listed: ListedImport): string {
  return `import: ${workgroupId}, ${listed.path}: ${howFar(listed)}\n`;
}

function howFar({ state, isUnderWay, rowsRead, updatedAtMs }: ListedImport): string {
  const rows = `${rowsRead.toLocaleString('en')} rows`;
  const at = formatInstant(updatedAtMs);
  if (isUnderWay) return `in progress, ${rows} read at ${at}`;
  return state === 'landing'
    ? `stopped at ${at} after ${rows}, which do not count yet; run the same "wattline import" again to continue`
    : `given up at ${at} after ${rows}, which do not count; import the file again`;
}

export function describeNewestImport(
  workgroupId: string,
  { path, landedAtMs, rowsLanded, rowsRejected, summary, warnings }: ListedNewestImport,
): string {
  const rejected = rowsRejected > 0 ? `, ${formatCount(rowsRejected)} rejected` : '';
  const [warning] = warnings;
  const became =
    warning === undefined
      ? energyInWords(summary)
      : `WARNING: ${warning.split(/\n|\\u000a/)[0]} "wattline import ${path} --table ${summary.table} --dry-run" shows details`;
  return `import: ${workgroupId}, ${path}: imported at ${formatInstant(landedAtMs)}, ${formatCount(rowsLanded)} rows${rejected}; ${became}\n`;
}

const SOURCES_SHOWN_MAX = 4;

function energyInWords({ fields, firstDay, lastDay, devices, months }: ImportSummary): string {
  const taken = sumOf(fields.flatMap(({ streams }) => streams.map((one) => one.taken)));
  const rejected = sumOf(fields.flatMap((field) => Object.values(field.rejected)));
  const bySource = [...Map.groupBy(months, ({ source }) => source)].map(
    ([source, list]) => `${source} ${formatKwh(sumOf(list.map(({ energyWh }) => energyWh)))} kWh`,
  );
  const energy =
    months.length === 0
      ? 'no energy'
      : `${bySource.slice(0, SOURCES_SHOWN_MAX).join(', ')}${bySource.length > SOURCES_SHOWN_MAX ? ` and ${bySource.length - SOURCES_SHOWN_MAX} more sources` : ''} of ${formatCount(devices)} ${devices === 1 ? 'device' : 'devices'} from ${firstDay} to ${lastDay}`;
  return `${formatCount(taken)} readings accepted${rejected > 0 ? `, ${formatCount(rejected)} rejected` : ''}; ${energy}`;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
