import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import type { Clock } from '../lib/time.ts';
import { type Commit, isFormatOne, type LakeFile } from '../publish/commit-schema.ts';
import { commitKey, fileKey } from '../publish/lake-layout.ts';
import { totalsOf } from '../publish/publish.ts';
import { packObject, packsOf } from '../snapshot/take-snapshot.ts';
import { unpack } from '../snapshot/unpack.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { Migration } from '../warehouse/load-sql.ts';
import { query } from '../warehouse/query.ts';
import { bundledFiles, bundledStore } from './bundled-store.ts';
import { findDamage } from './find-damage.ts';
import { checkWarehouse } from './restore-lake.ts';
import { isRestorable, type RestorableCommit, readStoredCommit, storedSequences } from './stored-commits.ts';

interface VerifyLakeOptions {
  store: ObjectStore;
  /**
   * Commits that are older than the newest one by more than this are left out, because their files can be
   * deleted. Default: all are read.
   */
  contentMs?: number;
  /** For one file and one warehouse at a time. It is deleted at the end. */
  stagingDir: string;
  /** The schema; default: the version of this program. */
  migrations?: Migration[];
  clock: Clock;
  onProgress?: (what: string) => void;
  signal?: AbortSignal;
}

export interface VerifiedLake {
  /** The undamaged objects. */
  commits: number;
  files: number;
  packs: number;
  snapshots: number;
  bytes: number;
  /** The newest commit that can be restored. Undefined if there is none. */
  restorable: { sequence: number; createdAtMs: number } | undefined;
  broken: Broken[];
}

export interface Broken {
  key: string;
  why: string;
}

/**
 * Reads everything in a lake or a backup of one workgroup: each commit, each file and each snapshot. It
 * compares the SHA-256, the rows and the energy of each file, and the SHA-256 of each block of a snapshot.
 * The newest snapshot is opened as a warehouse. Damage is collected, not thrown.
 * @throws TransientError if the store does not answer, TerminalError if it refuses
 */
export async function verifyLake(options: VerifyLakeOptions): Promise<VerifiedLake> {
  const { store, stagingDir, signal } = options;
  const found: VerifiedLake = {
    commits: 0,
    files: 0,
    packs: 0,
    snapshots: 0,
    bytes: 0,
    restorable: undefined,
    broken: [],
  };
  /** True if `work` has found no damage. `commits` name it. */
  const check = async (key: string, work: () => Promise<void>, commits?: number[]): Promise<boolean> => {
    signal?.throwIfAborted();
    const damage = await findDamage(work);
    if (!damage) return true;
    // Meanwhile retention has deleted the commits and the object.
    if (commits && !(await storedSequences(store, signal)).some((one) => commits.includes(one))) return false;
    found.broken.push({ key, why: errorMessage(damage).split('\n', 1)[0]! });
    return false;
  };
  await mkdir(stagingDir, { recursive: true });
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '512MiB' });
  const connection = await instance.connect();
  try {
    /** By place, because a file can be in a bundle for one commit, and a separate object for another. */
    const files = new Map<string, { file: LakeFile; source: ObjectStore; commits: number[] }>();
    const snapshots: RestorableCommit[] = [];
    for (const sequence of await sequencesOf(options)) {
      const key = `commits/${sequence}`;
      const isSound = await check(key, async () => {
        const commit = await readStoredCommit(store, sequence, signal);
        // Retention has deleted it meanwhile.
        if (!commit || isFormatOne(commit)) return;
        const totals = totalsOf(commit.files);
        if (
          totals.messages !== commit.totals.messages ||
          totals.dailyEnergyWh !== commit.totals.dailyEnergyWh
        )
          throw damagedError(`the totals of commit ${sequence} are not those of its files`);
        const source = bundledStore(store, commit);
        const placeOf = placesOf(commit);
        for (const file of commit.files) {
          const place = placeOf(file);
          const known = files.get(place);
          if (known && known.file.sha256 !== file.sha256)
            throw damagedError(`commit ${sequence} notes another SHA-256 of ${place} than an earlier one`);
          if (known) known.commits.push(sequence);
          else files.set(place, { file, source, commits: [sequence] });
        }
        if (isRestorable(commit)) snapshots.push(commit);
      });
      if (isSound) found.commits++;
    }
    const soundFiles = new Set<string>();
    for (const [place, { file, source, commits }] of files) {
      options.onProgress?.(place);
      const verifying = { ...options, store: source };
      const isSound = await check(place, () => verifyFile(verifying, connection, file), commits);
      if (!isSound) continue;
      soundFiles.add(place);
      found.bytes += file.bytes;
    }
    found.files = soundFiles.size;
    const soundPacks = new Map<string, number>();
    for (const [index, commit] of snapshots.toReversed().entries()) {
      options.onProgress?.(commit.snapshot.pack);
      const isSound = await check(commit.snapshot.pack, async () => {
        await verifySnapshot(options, commit, index === 0);
        for (const { key, bytes } of await packsOf(store, commit.snapshot, signal))
          soundPacks.set(key, bytes);
      }, [commit.sequence]);
      if (!isSound) continue;
      found.snapshots++;
      const placeOf = placesOf(commit);
      if (commit.files.every((file) => soundFiles.has(placeOf(file))))
        found.restorable ??= { sequence: commit.sequence, createdAtMs: commit.createdAtMs };
    }
    found.packs = soundPacks.size;
    for (const bytes of soundPacks.values()) found.bytes += bytes;
    return found;
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(stagingDir, { recursive: true, force: true });
  }
}

/** Where the files of a commit are: a key, or a key and its bundle. */
function placesOf(commit: Commit): (file: LakeFile) => string {
  const bundled = bundledFiles(commit);
  return (file) => {
    const key = fileKey(file);
    const bundle = bundled.get(key)?.bundle;
    return bundle === undefined ? key : `${key} in ${bundle}`;
  };
}

async function sequencesOf({ store, contentMs, signal }: VerifyLakeOptions): Promise<number[]> {
  const sequences = await storedSequences(store, signal);
  const newest = sequences.at(-1);
  if (contentMs === undefined || newest === undefined) return sequences;
  const modifiedAtMs = new Map<string, number>();
  for await (const object of store.list('commits/', { signal }))
    modifiedAtMs.set(object.key, object.modifiedAtMs);
  const sinceMs = (modifiedAtMs.get(commitKey(newest)) ?? 0) - contentMs;
  return sequences.filter((sequence) => (modifiedAtMs.get(commitKey(sequence)) ?? sinceMs) >= sinceMs);
}

async function verifyFile(
  { store, stagingDir, signal }: VerifyLakeOptions,
  connection: Parameters<typeof query>[0],
  file: LakeFile,
): Promise<void> {
  const path = join(stagingDir, 'file.parquet');
  try {
    if (!(await store.download(fileKey(file), path, file, signal)))
      throw damagedError('it does not exist, but a commit names it');
    const [counted] = await query<{ row_count: number }>(connection, 'publish/verify_file', { path });
    if (counted!.row_count !== file.rows)
      throw damagedError(
        `it has ${formatCountOf(counted!.row_count, 'row')} instead of the noted ${file.rows}`,
      );
    if (file.energyWh === undefined) return;
    const [energy] = await query<{ energy_wh: number }>(connection, 'publish/sum_file_energy', { path });
    // Beyond 2^53 the last digits of a sum depend on the order.
    if (Math.abs(energy!.energy_wh - file.energyWh) > Math.abs(file.energyWh) * 1e-12)
      throw damagedError(`it has ${energy!.energy_wh} Wh instead of the noted ${file.energyWh}`);
  } catch (error) {
    if (
      error instanceof Error &&
      /Invalid Input Error|Parquet/.test(error.message) &&
      !(error instanceof TerminalError)
    )
      throw damagedError(`it cannot be read (${errorMessage(error).split('\n', 1)[0]})`);
    throw error;
  } finally {
    await rm(path, { force: true });
  }
}

async function verifySnapshot(
  verifying: VerifyLakeOptions,
  commit: RestorableCommit,
  isOpened: boolean,
): Promise<void> {
  const { store, stagingDir, signal } = verifying;
  const { snapshot } = commit;
  const path = join(stagingDir, `${commit.workgroupId}.duckdb`);
  const options = { pack: packObject(snapshot), fileBytes: snapshot.fileBytes, signal };
  if (!isOpened) return void (await unpack(store, options));
  try {
    await unpack(store, { ...options, path });
    await checkWarehouse(path, commit, verifying);
  } finally {
    for (const file of [path, `${path}.wal`]) await rm(file, { force: true });
  }
}

function damagedError(what: string): TerminalError {
  return new TerminalError('ObjectDamaged', what);
}
