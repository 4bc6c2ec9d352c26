import type { Command } from 'commander';
import type { RestoredLake } from '../../backup/restore-lake.ts';
import { parseAt, type RestorableCommit, type RestorePoint } from '../../backup/stored-commits.ts';
import type { Config } from '../../config/config.ts';
import { InputError, TerminalError, TransientError } from '../../lib/errors.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatMoment } from '../../lib/time.ts';
import { lakeFolder, warehouseFile } from '../../pipeline/assignment.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { runTask } from '../run-service.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';
import { bar, createLineView, wholePercent } from '../terminal/progress-view.ts';
import { ALL_WORKGROUPS_OPTION, chosenWorkgroups } from './backup-command.ts';
import { choosePlace, type Place } from './choose-place.ts';
import { formatMegabytes } from './format-megabytes.ts';

interface Options {
  workgroup?: string;
  at?: string;
  force?: boolean;
}

interface Restored extends RestoredLake {
  workgroup: string;
  sequence: number;
  createdAtMs: number;
  /** The commit that was asked for, if it has no snapshot and an older one was restored. */
  asked?: number;
}

export function addRestoreCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('restore')
    .description('restore warehouses and lakes from a backup')
    .argument(
      '[place]',
      'a folder, or s3://bucket/prefix (default: backup.s3, else the lake of this machine)',
    )
    .option(...ALL_WORKGROUPS_OPTION)
    .option(
      '--at <commit or time>',
      'the number of a commit, or a time such as 2026-11-22T18:00:00Z (default: the newest)',
    )
    .option('--force', 'move existing data away; it is kept for 7 days next to the restored data')
    .addHelpText('after', help)
    .action((place: string | undefined, options: Options) =>
      runTask(command, terminal, async (config, service) => {
        const { force = false } = options;
        const at = parseAt(options.at);
        const ids = chosenWorkgroups(config, options.workgroup).map(({ id }) => id);
        refuseOneNumberForSeveral(ids, at);
        if (!config.storage.s3) {
          const from = choosePlace(config, terminal, place ?? ownLake(config));
          return restoreAll(command, config, service, { ids, at, place: from, force });
        }
        const { restoreInBucket } = await import('./restore-in-bucket.ts');
        const from = place === undefined ? undefined : choosePlace(config, terminal, place);
        return restoreInBucket(command, config, service, { ids, at, place: from, force });
      }),
    );
}

/** Each workgroup numbers its own commits, so one number would mean a different time for each. */
function refuseOneNumberForSeveral(ids: readonly string[], at: RestorePoint): void {
  if (ids.length > 1 && at.kind === 'sequence')
    throw new InputError('the command line', [
      {
        path: '--workgroup',
        message: 'is missing: name a workgroup, because each one numbers its own commits',
      },
    ]);
}

interface Asked {
  ids: readonly string[];
  at: RestorePoint;
  place: Place;
  force: boolean;
}

async function restoreAll(
  command: Command,
  config: Config,
  service: Service,
  { ids, at, place, force }: Asked,
): Promise<void> {
  const { holdRoles } = await import('../../service/hold-roles.ts');
  const { restoreState } = await import('../../backup/backup-state.ts');
  const release = await holdRoles(config, ['stream', 'worker'], service.clock);
  try {
    const { restorable, missing } = await findAll(config, service, { ids, at, place });
    const workgroups: Restored[] = [];
    for (const one of restorable) workgroups.push(await restoreOne(config, service, place, one, force));
    // The state of exports must be as new as the newest restored workgroup.
    const atMs = Math.max(...workgroups.map(({ createdAtMs }) => createdAtMs));
    const state = await restoreState({
      store: place.state,
      dataDir: config.dataDir,
      atMs,
      signal: service.signal,
    });
    printData(
      command,
      service.terminal,
      { place: place.name, workgroups, missing, state },
      (columnsMax, shown) =>
        [
          formatTable(
            [
              { title: 'workgroup', value: (row) => row.workgroup },
              { title: 'commit', value: (row) => formatCount(row.sequence), align: 'right' },
              { title: 'data until', value: (row) => formatMoment(row.createdAtMs) },
              { title: 'files', value: (row) => formatCount(row.files), align: 'right' },
              { title: 'MB', value: (row) => formatMegabytes(row.bytes), align: 'right' },
            ],
            shown.workgroups,
            columnsMax,
          ),
          ...shown.workgroups.flatMap(notesOf),
          ...shown.missing.map((id) => `${id}: the place has no backup of it.\n`),
          `\nRestored: ${formatCountOf(shown.state.restored, 'file')} of exports, audit and access. Left as they were: ${formatCountOf(shown.state.kept, 'existing file')}.\n`,
          'Start the service: it continues reading the stream where the restored data ends.\n',
        ].join(''),
    );
  } finally {
    await release();
  }
}

function notesOf({ workgroup, asked, sequence, movedAway }: Restored): string[] {
  return [
    ...(asked === undefined
      ? []
      : [
          `${workgroup}: commit ${asked} has no snapshot, so commit ${sequence} before it was restored, with its lake.\n`,
        ]),
    ...movedAway.map((path) => `${workgroup}: the data before is kept for 7 days in ${path}\n`),
  ];
}

/**
 * The commit of each workgroup. Nothing is restored before all are known.
 * @throws TerminalError `NothingToRestore` if there is none at all
 */
async function findAll(
  config: Config,
  { signal }: Service,
  { ids, at, place }: Omit<Asked, 'force'>,
): Promise<{ restorable: Restorable[]; missing: string[] }> {
  const { findRestorable } = await import('../../backup/stored-commits.ts');
  const { createControl } = await import('../../worker-rpc/control.ts');
  const restorable: Restorable[] = [];
  const missing: string[] = [];
  let failure: unknown;
  for (const workgroup of ids) {
    if (await createControl(config.dataDir).reaches(workgroup))
      throw new TransientError(
        'ServiceRuns',
        `the service has the warehouse of ${workgroup} open; stop the service, then run the same command again`,
      );
    try {
      restorable.push({ workgroup, ...(await findRestorable(place.of(workgroup), at, signal)) });
    } catch (error) {
      if (!(error instanceof TerminalError && error.code === 'NothingToRestore')) throw error;
      failure ??= error;
      missing.push(workgroup);
    }
  }
  if (restorable.length === 0) throw failure;
  return { restorable, missing };
}

interface Restorable {
  workgroup: string;
  commit: RestorableCommit;
  asked: number | undefined;
}

async function restoreOne(
  config: Config,
  service: Service,
  place: Place,
  { workgroup, commit, asked }: Restorable,
  force: boolean,
): Promise<Restored> {
  const { clock, signal, terminal } = service;
  const { restoreLake } = await import('../../backup/restore-lake.ts');
  const { lakePaths } = await import('../../publish/lake-layout.ts');
  const view = createLineView(terminal, () => performance.now());
  try {
    const restored = await restoreLake({
      source: place.of(workgroup),
      commit,
      warehousePath: warehouseFile(config.dataDir, workgroup),
      root: lakePaths(lakeFolder(config), workgroup).root,
      force,
      clock,
      signal,
      onProgress: ({ doneBytes, allBytes }) =>
        view.show(
          `${workgroup}: ${bar(doneBytes / allBytes)} ${wholePercent(doneBytes / allBytes)} of ${formatMegabytes(allBytes)} MB`,
        ),
    });
    const { sequence, createdAtMs } = commit;
    return { workgroup, sequence, createdAtMs, ...(asked !== undefined && { asked }), ...restored };
  } finally {
    view.clear();
  }
}

/** The lakes of this machine have snapshots too. Undefined if a bucket is configured. */
function ownLake(config: Config): string | undefined {
  return config.backup.s3 ? undefined : lakeFolder(config);
}

const help = `
Restores warehouse and lake of one commit together.

The service must not run. After its start it continues at the end of the restored data. The stream has the messages
of the last hour (stream.retention). Older messages that are missing are reported as a gap.

Every file is checked by its SHA-256 next to the old data, and moved into place at the end. So an interrupted or
refused restore changes nothing.

What is restored:
  a place                 warehouse and lake of the backup there, and the state of exports and of the audit log if
                          it does not exist
  no place, backup.s3     the same from the bucket of the backup
  no place, no backup.s3  the warehouse, from the last snapshot in the lake of this machine. The service adds one
                          every pipeline.snapshotEvery
  --at                    the newest commit with a snapshot that is not later. A number is that of one workgroup (-w)

With storage.s3 the state of all workgroups is in a bucket, and the service continues from there by itself:
  --at                    adds a commit with the content of an earlier one. The bucket keeps earlier commits for a day
  a place                 copies the backup into the bucket, with the runs of exports that the bucket does not have
                          yet. Files of audit and access are restored on this machine
  the service             can run meanwhile, and continues from the new commit

Examples:
  wattline restore --force
  wattline restore /mnt/backup/wattline
  wattline restore s3://energy-backup/site-a --at 2026-11-22T18:00:00Z --force`;
