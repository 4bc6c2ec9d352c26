import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Broken, VerifiedLake } from '../../backup/verify-lake.ts';
import type { Config } from '../../config/config.ts';
import { TerminalError } from '../../lib/errors.ts';
import { formatCount } from '../../lib/format-count.ts';
import { formatMoment, HOUR_MS } from '../../lib/time.ts';
import { lakeFolder } from '../../pipeline/assignment.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { workgroupStore } from '../../storage/workgroup-store.ts';
import { runTask } from '../run-service.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';
import { createLineView } from '../terminal/progress-view.ts';
import { ALL_WORKGROUPS_OPTION, chosenWorkgroups } from './backup-command.ts';
import { bucketAddress, choosePlace, type Place } from './choose-place.ts';
import { formatMegabytes } from './format-megabytes.ts';

interface Options {
  workgroup?: string;
}

export function addVerifyCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('verify')
    .description('read every file of a backup or of the lake, and report the damaged ones')
    .argument(
      '[place]',
      'a folder, or s3://bucket/prefix (default: the bucket of storage.s3, else the lake of this machine)',
    )
    .option(...ALL_WORKGROUPS_OPTION)
    .addHelpText('after', help)
    .action((text: string | undefined, options: Options) =>
      runTask(command, terminal, (config, service) =>
        verifyAll(
          command,
          config,
          service,
          text === undefined ? undefined : choosePlace(config, terminal, text),
          options,
        ),
      ),
    );
}

async function verifyAll(
  command: Command,
  config: Config,
  { terminal, clock, signal, temporary }: Service,
  place: Place | undefined,
  { workgroup }: Options,
): Promise<void> {
  const { verifyLake } = await import('../../backup/verify-lake.ts');
  const { CONTENT_MS } = await import('../../replica/collect-replica.ts');
  const { verifyState } = await import('../../backup/backup-state.ts');
  const { createFolderStore } = await import('../../storage/folder-store.ts');
  const stagingDir = join(tmpdir(), `wattline-verify-${randomUUID()}`);
  temporary.add(stagingDir);
  const view = createLineView(terminal, () => performance.now());
  const workgroups: Array<VerifiedLake & { workgroup: string }> = [];
  for (const { id } of chosenWorkgroups(config, workgroup)) {
    const bucket = place ? undefined : workgroupStore(config.storage, id);
    const store = place?.of(id) ?? bucket ?? createFolderStore(join(lakeFolder(config), id));
    const onProgress = (what: string) => view.show(`${id}: ${what}`);
    workgroups.push({
      workgroup: id,
      ...(await verifyLake({
        store,
        ...(bucket && { contentMs: CONTENT_MS - READING_MS }),
        stagingDir,
        clock,
        signal,
        onProgress,
      })),
    });
  }
  view.clear();
  const state = place && (await verifyState(place.state, signal));
  const broken: Broken[] = [
    ...workgroups.flatMap((verified) =>
      verified.broken.map(({ key, why }) => ({ key: `${verified.workgroup}/${key}`, why })),
    ),
    ...(state?.broken ?? []),
  ];
  const { s3 } = config.storage;
  const name = place?.name ?? (s3 ? bucketAddress(s3) : lakeFolder(config));
  const data = { place: name, workgroups, ...(state && { state }), broken };
  printData(command, terminal, data, (columnsMax, shown) =>
    [
      formatTable(
        [
          { title: 'workgroup', value: (row) => row.workgroup },
          { title: 'commits', value: (row) => formatCount(row.commits), align: 'right' },
          { title: 'files', value: (row) => formatCount(row.files), align: 'right' },
          { title: 'snapshots', value: (row) => formatCount(row.snapshots), align: 'right' },
          { title: 'packs', value: (row) => formatCount(row.packs), align: 'right' },
          { title: 'MB', value: (row) => formatMegabytes(row.bytes), align: 'right' },
          { title: 'damaged', value: (row) => formatCount(row.broken.length), align: 'right' },
          {
            title: 'can be restored',
            value: ({ restorable }) =>
              restorable
                ? `commit ${restorable.sequence}, ${formatMoment(restorable.createdAtMs)}`
                : 'nothing',
          },
        ],
        shown.workgroups,
        columnsMax,
      ),
      ...shown.broken.map(({ key, why }) => `damaged: ${key}: ${why}\n`),
    ].join(''),
  );
  if (workgroups.every(({ commits, broken: found }) => commits + found.length === 0))
    throw new TerminalError(
      'NothingToVerify',
      `${data.place} has no commits of these workgroups; check the place`,
    );
  if (broken.length > 0)
    throw new TerminalError(
      'BackupDamaged',
      `${broken.length === 1 ? 'one object is' : `${broken.length} objects are`} damaged in ${data.place} (${broken[0]!.key}: ${broken[0]!.why}); make a new backup to another place, or restore the newest undamaged commit`,
    );
}

/** The owner of a bucket deletes the files of older commits meanwhile. */
const READING_MS = HOUR_MS;

const help = `
Reads each commit, each Parquet file and each snapshot. It compares SHA-256, rows and energy of a file with its commit, and the SHA-256 of each
pack and block of a snapshot. The newest snapshot is opened as a warehouse. It lists damaged and missing files, and then the exit code is 1. It
counts the undamaged ones. With storage.s3 and without a place, the commits of the last 23 hours in the bucket are read.

Examples:
  wattline verify
  wattline verify /mnt/backup/wattline
  wattline verify s3://energy-backup/site-a --workgroup home --json`;
