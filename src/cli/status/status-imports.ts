import type { WorkgroupConfig } from '../../config/config.ts';
import type { ImportSummary } from '../../import/import-summary.ts';
import type { LandedImport } from '../../import/newest-imports.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatInstant } from '../../lib/time.ts';
import type { KnownImport } from '../../operate/known-imports.ts';
import { warningsOfImport } from '../import/import-news.ts';
import { formatKwh } from '../terminal/format-numbers.ts';

/** A finished import, with its problems. */
export interface ListedNewestImport extends LandedImport {
  warnings: string[];
}

export function withWarnings(
  newest: readonly LandedImport[],
  workgroup: Pick<WorkgroupConfig, 'id' | 'energyStreams'>,
): ListedNewestImport[] {
  return newest.map((one) => ({ ...one, warnings: warningsOfImport(one.summary, workgroup) }));
}

export function describeImport(workgroupId: string, listed: KnownImport): string {
  return `import: ${workgroupId}, ${listed.path}: ${howFar(listed)}\n`;
}

function howFar({ state, isUnderWay, rowsRead, updatedAtMs }: KnownImport): string {
  const rows = formatCountOf(rowsRead, 'row');
  const updatedAt = formatInstant(updatedAtMs);
  if (isUnderWay) return `in progress, ${rows} read at ${updatedAt}`;
  return state === 'landing'
    ? `stopped at ${updatedAt} after ${rows}, which do not count yet; run the same "wattline import" again to continue`
    : `given up at ${updatedAt} after ${rows}, which do not count; import the file again`;
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
  return `import: ${workgroupId}, ${path}: imported at ${formatInstant(landedAtMs)}, ${formatCountOf(rowsLanded, 'row')}${rejected}; ${became}\n`;
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
      : `${bySource.slice(0, SOURCES_SHOWN_MAX).join(', ')}${bySource.length > SOURCES_SHOWN_MAX ? ` and ${formatCountOf(bySource.length - SOURCES_SHOWN_MAX, 'more source')}` : ''} of ${formatCountOf(devices, 'device')} from ${firstDay} to ${lastDay}`;
  return `${formatCountOf(taken, 'reading')} accepted${rejected > 0 ? `, ${formatCount(rejected)} rejected` : ''}; ${energy}`;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
