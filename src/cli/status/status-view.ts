import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatInstant, type UtcMs } from '../../lib/time.ts';
import { statusStages, type WorkgroupState } from '../../operate/workgroup-state.ts';
import { describeTrouble } from '../../pipeline/trouble.ts';
import type { LakeFillState } from '../../replica/start-lake-fill.ts';
import { exportNotes } from '../exports/exports-view.ts';
import { formatAgo } from '../terminal/format-ago.ts';
import { formatTable } from '../terminal/format-table.ts';
import { describeImport, describeNewestImport, type ListedNewestImport } from './status-imports.ts';

/** The state of a workgroup, with the problems of its imports. */
export interface ListedStatus extends Omit<WorkgroupState, 'newestImports'> {
  newestImports: ListedNewestImport[];
}

/** A table of the workgroups, and below it what is wrong and what goes on, each in a line. */
export function describeStatuses(
  statuses: readonly ListedStatus[],
  nowMs: UtcMs,
  columnsMax: number,
): string {
  const errors = statuses.flatMap((status) =>
    statusStages.flatMap((stage) => {
      const { lastError } = status[stage];
      return lastError
        ? [`${status.workgroupId}, ${stage} at ${formatInstant(lastError.atMs)}: ${lastError.message}\n`]
        : [];
    }),
  );
  const failing = statuses.flatMap(({ troubles }) =>
    troubles.map((one) => `failing: ${describeTrouble(one)}\n`),
  );
  const problems = statuses.flatMap((status) =>
    status.problems.map(({ path, message }) => `problem: ${path}: ${message}\n`),
  );
  const imports = statuses.flatMap(({ workgroupId, imports: open, newestImports }) => [
    ...open.map((one) => describeImport(workgroupId, one)),
    ...newestImports.map((one) => describeNewestImport(workgroupId, one)),
  ]);
  const exports = statuses.flatMap(({ workgroupId, exports: own }) =>
    own.flatMap(exportNotes).map((note) => `export: ${workgroupId}, ${note}\n`),
  );
  const fills = statuses.flatMap(({ workgroupId, bucket }) =>
    bucket?.fill ? [`copying: ${workgroupId}, ${describeFill(bucket.fill)}\n`] : [],
  );
  return [
    formatTable(columnsAt(nowMs, statuses), statuses, columnsMax),
    ...(fills.length > 0 ? ['\n', ...fills] : []),
    ...(failing.length > 0 ? ['\n', ...failing] : []),
    ...(problems.length > 0 ? ['\n', ...problems] : []),
    ...(imports.length > 0 ? ['\n', ...imports] : []),
    ...(exports.length > 0 ? ['\n', ...exports] : []),
    ...(errors.length > 0 ? ['\nLast errors\n', ...errors] : []),
  ].join('');
}

/** The copy of the files of a lake after a takeover. */
function describeFill({ missingFiles, error }: LakeFillState): string {
  const files =
    missingFiles === undefined
      ? 'files of its lake are'
      : formatCountOf(missingFiles, 'file of its lake is', 'files of its lake are');
  const failed = error === undefined ? '' : `; the last attempt failed: ${error}`;
  return `${files} still only in the bucket, and reports read ${missingFiles === 1 ? 'it' : 'them'} there${failed}`;
}

function columnsAt(nowMs: UtcMs, statuses: readonly ListedStatus[]) {
  const count = (value: number | undefined) => (value === undefined ? '-' : formatCount(value));
  const ago = (ms: UtcMs | undefined) => formatAgo(ms, nowMs);
  const right = 'right' as const;
  const hasBucket = statuses.some(({ bucket }) => bucket !== undefined);
  return [
    { title: 'Workgroup', value: (status: ListedStatus) => status.workgroupId },
    { title: 'State', value: (status: ListedStatus) => status.state },
    ...(hasBucket
      ? [
          { title: 'Machine', value: (status: ListedStatus) => status.machine ?? '-' },
          {
            title: 'In bucket',
            value: (status: ListedStatus) => ago(status.bucket?.lastCommitAtMs),
            align: right,
          },
        ]
      : []),
    { title: 'Checkpoint', value: (status: ListedStatus) => status.poll.nextOffset ?? '-' },
    { title: 'Lag', value: (status: ListedStatus) => count(status.poll.lagMessages), align: right },
    { title: 'Lag s', value: (status: ListedStatus) => count(status.lagSeconds), align: right },
    { title: 'By', value: (status: ListedStatus) => status.poll.transport ?? '-' },
    { title: 'Polled', value: (status: ListedStatus) => ago(status.poll.lastSuccessAtMs), align: right },
    { title: 'Rolled up', value: (status: ListedStatus) => ago(status.rollup.lastSuccessAtMs), align: right },
    { title: 'Generation', value: (status: ListedStatus) => count(status.publish.generation), align: right },
    { title: 'Online', value: (status: ListedStatus) => count(status.devices?.online), align: right },
    { title: 'Offline', value: (status: ListedStatus) => count(status.devices?.offline), align: right },
    ...(statuses.some(({ devices }) => devices?.asleep)
      ? [{ title: 'Asleep', value: (status: ListedStatus) => count(status.devices?.asleep), align: right }]
      : []),
    { title: 'Gaps', value: (status: ListedStatus) => count(status.gaps), align: right },
    { title: 'Quarantine', value: (status: ListedStatus) => count(status.quarantined), align: right },
  ];
}
