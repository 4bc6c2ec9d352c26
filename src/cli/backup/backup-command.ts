import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { BackedUpLake, BackupLakeOptions } from '../../backup/backup-lake.ts';
import type { BackedUpState } from '../../backup/backup-state.ts';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { InputError, TerminalError, TransientError } from '../../lib/errors.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatMoment, MINUTE_MS } from '../../lib/time.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { repeatRequests } from '../../storage/repeat-requests.ts';
import { workgroupStore } from '../../storage/workgroup-store.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { runTask } from '../run-service.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';
import { bar, createLineView, wholePercent } from '../terminal/progress-view.ts';
import { choosePlace, type Place } from './choose-place.ts';
import { formatMegabytes } from './format-megabytes.ts';

interface Options {
  workgroup?: string;
  withSecrets?: boolean;
}

/** What a backup has copied. */
interface BackupFacts {
  place: string;
  workgroups: Array<BackedUpLake & { workgroup: string }>;
  /** Nothing of them was published yet. */
  unpublished: string[];
  state: BackedUpState;
  withSecrets: boolean;
}

export const ALL_WORKGROUPS_OPTION = [
  '-w, --workgroup <id>',
  'only this workgroup (default: all that are configured)',
] as const;

export function addBackupCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('backup')
    .description('copy warehouses and lakes to a folder or a bucket; the service can run meanwhile')
    .argument('[place]', 'a folder, or s3://bucket/prefix (default: backup.s3 of the configuration)')
    .option(...ALL_WORKGROUPS_OPTION)
    .option('--with-secrets', 'copy the signing keys and the list of tokens too')
    .addHelpText('after', help)
    .action((place: string | undefined, options: Options) =>
      runTask(command, terminal, (config, service) =>
        backupAll(command, config, service, choosePlace(config, terminal, place), options),
      ),
    );
}

/** The workgroups of a command: the named one, or all. */
export function chosenWorkgroups(config: Config, id: string | undefined): WorkgroupConfig[] {
  return id === undefined && config.workgroups.length > 0 ? config.workgroups : [chooseWorkgroup(config, id)];
}

async function backupAll(
  command: Command,
  config: Config,
  service: Service,
  place: Place,
  { workgroup, withSecrets = false }: Options,
): Promise<void> {
  const { terminal, signal } = service;
  const { probeStore } = await import('../../storage/probe-store.ts');
  const chosen = chosenWorkgroups(config, workgroup);
  await probeStore(place.state, signal);
  const workgroups: BackupFacts['workgroups'] = [];
  const unpublished: string[] = [];
  for (const chosenWorkgroup of chosen) {
    const done = await backupOne(config, service, place, chosenWorkgroup);
    if (done === undefined) unpublished.push(chosenWorkgroup.id);
    else workgroups.push({ workgroup: chosenWorkgroup.id, ...done });
  }
  const state = await copyState(config, service, place, chosen, withSecrets);
  const facts = { place: place.name, workgroups, unpublished, state, withSecrets };
  printData(command, terminal, facts, (columnsMax, shown) => describeBackup(shown, columnsMax));
}

/**
 * Copies the data outside of warehouses and lakes: runs of exports, the audit log, and the keys and tokens.
 */
async function copyState(
  config: Config,
  service: Service,
  place: Place,
  chosen: readonly WorkgroupConfig[],
  withSecrets: boolean,
): Promise<BackedUpState> {
  const { clock, signal } = service;
  const { dataDir } = config;
  const { backupState } = await import('../../backup/backup-state.ts');
  const stagingDir = join(dataDir, 'backup', randomUUID());
  // With a bucket the runs of exports are there.
  const exportsRoot = config.storage.s3 && join(dataDir, 'backup', randomUUID());
  const options = { store: place.state, dataDir, exportsRoot, withSecrets, stagingDir, clock, signal };
  if (!exportsRoot) return backupState(options);
  try {
    const { exportsFromBucket } = await import('./exports-in-bucket.ts');
    await exportsFromBucket(config, service, chosen, exportsRoot);
    return await backupState(options);
  } finally {
    await rm(exportsRoot, { recursive: true, force: true });
  }
}

function describeBackup(
  { place, workgroups, unpublished, state, withSecrets }: BackupFacts,
  columnsMax: number,
): string {
  return [
    formatTable(
      [
        { title: 'workgroup', value: (row) => row.workgroup },
        { title: 'commit', value: (row) => formatCount(row.sequence), align: 'right' },
        { title: 'data until', value: (row) => formatMoment(row.createdAtMs) },
        { title: 'objects', value: (row) => formatCount(row.objects), align: 'right' },
        { title: 'MB', value: (row) => formatMegabytes(row.bytes), align: 'right' },
        {
          title: 'copied now',
          value: (row) => (row.isUnchanged ? 'nothing, it is there' : formatCount(row.copied)),
          align: 'right',
        },
        { title: 'MB', value: (row) => formatMegabytes(row.copiedBytes), align: 'right' },
      ],
      workgroups,
      columnsMax,
    ),
    `\nIn the backup: ${formatCountOf(state.files, 'file')} of exports${withSecrets ? ', audit and access' : ' and audit'}.\n`,
    ...unpublished.map((id) => `${id} is not in the backup: nothing of it was published yet.\n`),
    withSecrets
      ? `The backup has signing keys: everybody who can read ${place} can make tokens.\n`
      : 'Keys and tokens are not in the backup; --with-secrets copies them. The configuration is never in it.\n',
  ].join('');
}

/** @returns undefined if nothing of the workgroup was published yet */
async function backupOne(
  config: Config,
  service: Service,
  place: Place,
  workgroup: WorkgroupConfig,
): Promise<BackedUpLake | undefined> {
  const { backupLake } = await import('../../backup/backup-lake.ts');
  const view = createLineView(service.terminal, () => performance.now());
  const copy = (source: BackupLakeOptions['source'], sequence: number) =>
    backupLake({
      source,
      sequence,
      target: place.of(workgroup.id),
      stagingDir: join(config.dataDir, 'backup', randomUUID()),
      signal: service.signal,
      onProgress: ({ doneBytes, allBytes }) =>
        view.show(
          `${workgroup.id}: ${bar(doneBytes / allBytes)} ${wholePercent(doneBytes / allBytes)} of ${formatMegabytes(allBytes)} MB`,
        ),
    });
  try {
    const store = workgroupStore(config.storage, workgroup.id);
    if (store) return await copyOfBucket(repeatRequests(store), place, service, copy);
    return await copyOfLake(config, service, workgroup, view, copy);
  } finally {
    view.clear();
  }
}

type Copy = (source: BackupLakeOptions['source'], sequence: number) => Promise<BackedUpLake>;

/**
 * Copies the newest commit of the bucket. It has everything up to the last `storage.commitEvery`, and no
 * owner has to be asked.
 */
async function copyOfBucket(
  store: ObjectStore,
  place: Place,
  { signal }: Service,
  copy: Copy,
): Promise<BackedUpLake | undefined> {
  const { findRestorable } = await import('../../backup/stored-commits.ts');
  if (place.name === store.address || store.address.startsWith(`${place.name}/`))
    throw new InputError('the command line', [
      { path: 'place', message: `${place.name} is the bucket of storage.s3: name another place` },
    ]);
  try {
    const { commit } = await findRestorable(store, { kind: 'newest' }, signal);
    return await copy({ store }, commit.sequence);
  } catch (error) {
    if (error instanceof TerminalError && error.code === 'NothingToRestore') return undefined;
    throw error;
  }
}

async function copyOfLake(
  config: Config,
  service: Service,
  workgroup: WorkgroupConfig,
  view: ReturnType<typeof createLineView>,
  copy: Copy,
): Promise<BackedUpLake | undefined> {
  const { signal } = service;
  const { followUpAll } = await import('../../service/follow-up-all.ts');
  const { openOwner } = await import('../../service/open-owner.ts');
  const { lakePaths } = await import('../../publish/lake-layout.ts');
  const { lakeFolder } = await import('../../pipeline/assignment.ts');
  const owner = await openOwner(config, workgroup, service);
  try {
    view.show(`${workgroup.id}: taking a snapshot`);
    if (!(await followUpAll(owner, signal))) signal.throwIfAborted();
    const { sequence } = await owner.ask('snapshot', undefined, { signal, withinMs: SNAPSHOT_MS_MAX });
    return await copy({ root: lakePaths(lakeFolder(config), workgroup.id).root }, sequence);
  } catch (error) {
    if (error instanceof TransientError && error.code === 'NothingPublished') return undefined;
    throw error;
  } finally {
    await owner.close();
  }
}

const SNAPSHOT_MS_MAX = 60 * MINUTE_MS;

const help = `
Copies all files that the place does not have yet, and at the end a small document that names all files: the commit. If the command is interrupted, the place has its
earlier commits, and the next backup copies the rest. A running service continues. It waits only during a checkpoint, usually for less than a
second. Without a service the command opens the warehouses itself. With storage.s3 it copies the newest commit of the bucket, on any machine.

In the backup: measured data, energy, corrections, uploads, imports and the lake of each workgroup, the state of exports, and audit entries that
are not in the log yet. Not in the backup: the messages of the last hour in the stream that have not landed, the configuration, and, without
--with-secrets, keys and tokens.

Keys of a bucket come from backup.s3 of the configuration, or from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Examples:
  wattline backup /mnt/backup/wattline
  wattline backup s3://energy-backup/site-a --workgroup home
  wattline backup --json`;
