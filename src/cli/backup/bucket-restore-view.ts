import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatMoment } from '../../lib/time.ts';
import { formatTable } from '../terminal/format-table.ts';

export interface RestoredWorkgroup {
  workgroup: string;
  /** The newest commit of the bucket now. */
  commit: number;
  /** The commit whose content was restored, and when it was made. */
  from: number;
  createdAtMs: number;
  /** False if the newest commit had this content already. */
  isNew: boolean;
  /** The commit that was the newest one before. Undefined if the bucket had no data. */
  replaced?: number;
}

/** What a restore into a bucket did. */
export interface BucketRestore {
  workgroups: readonly RestoredWorkgroup[];
  /** Workgroups without such a commit. */
  missing: readonly string[];
  /** What came from a backup and belongs to no commit. Undefined for an earlier commit of the bucket. */
  state:
    | {
        runs: { copied: number; kept: number };
        files: number;
        filesKept: number;
      }
    | undefined;
}

/** Says which commits a restore added to the bucket, and how to bring the one before back. */
export function describeBucketRestore(
  { workgroups, missing, state }: BucketRestore,
  columnsMax: number,
): string {
  return [
    formatTable(
      [
        { title: 'workgroup', value: (row) => row.workgroup },
        { title: 'restored commit', value: (row) => formatCount(row.from), align: 'right' },
        { title: 'data until', value: (row) => formatMoment(row.createdAtMs) },
        {
          title: 'new commit',
          value: ({ isNew, commit }) => (isNew ? formatCount(commit) : 'none, it is the newest'),
          align: 'right',
        },
      ],
      workgroups,
      columnsMax,
    ),
    ...workgroups.flatMap(({ workgroup, replaced }) =>
      replaced === undefined
        ? []
        : [
            `${workgroup}: commit ${replaced} was the newest one before. "wattline restore --at ${replaced} -w ${workgroup}" brings it back within a day.\n`,
          ],
    ),
    ...missing.map((id) => `${id}: there is no such commit of it.\n`),
    state ? describeState(state) : '',
    '\nA running service stops with the data that it has, and continues from the restored data and the stream.\n',
  ].join('');
}

function describeState({ runs, files, filesKept }: NonNullable<BucketRestore['state']>): string {
  return [
    `\nRestored into the bucket: ${formatCountOf(runs.copied, 'run')} of exports. Left as they were: ${formatCountOf(runs.kept, 'existing run')}.\n`,
    `Restored on this machine: ${formatCountOf(files, 'file')} of audit and access. Left as they were: ${formatCountOf(filesKept, 'existing file')}.\n`,
  ].join('');
}
