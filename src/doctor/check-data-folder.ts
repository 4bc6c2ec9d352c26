import { randomUUID } from 'node:crypto';
import { access, constants, open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { errorCode, isMissing } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { GIBIBYTE } from '../lib/units.ts';
import { APPEND_BYTES_MIN, diskFullWords } from '../stream/log/log-disk.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

/** Less free space than this is always too little. */
const FREE_BYTES_WARN = GIBIBYTE;
/** A tenth of the disk is too little if it is also less than this. */
const FREE_BYTES_ENOUGH = 10 * GIBIBYTE;
const FREE_SHARE_WARN = 0.1;
const FREE_INODES_SHARE_WARN = 0.05;

/** File systems by the type that `statfs` returns (magic.h of Linux). */
const NETWORK_TYPES: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  // CIFS, which is version 1, and version 2 and later.
  4283649346: 'SMB',
  4266872130: 'SMB',
  12805120: 'Ceph',
  1397113167: 'AFS',
};
const TMPFS_TYPE = 0x01021994;

/** The data folder: that it exists, can be written, has space, and is on a disk of this machine. */
export function checkDataFolder({ dataDir, storage }: Pick<Config, 'dataDir' | 'storage'>): Check {
  return {
    name: 'data folder',
    async run() {
      const unusable = await findUnusable(dataDir);
      if (unusable) return [unusable];
      return [await tryToWrite(dataDir), ...spaceFacts(dataDir, await statfs(dataDir), storage.shared)];
    },
  };
}

async function findUnusable(dataDir: string): Promise<Fact | undefined> {
  try {
    if (!(await stat(dataDir)).isDirectory())
      return problem(`${dataDir} is not a folder`, 'correct dataDir in the configuration');
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    if (isMissing(error))
      return warning(
        `${dataDir} does not exist`,
        'the first start creates it; if the service has run before, run the command with its configuration (--config)',
      );
    return problem(
      `${dataDir} cannot be read and written by this user (${errorCode(error)})`,
      'run the command as the user of the service, or give this user the permissions',
    );
  }
}

/** Writes a small file and removes it. */
async function tryToWrite(dataDir: string): Promise<Fact> {
  const path = join(dataDir, `.doctor-${randomUUID()}`);
  try {
    await using file = await open(path, 'wx', 0o600);
    await file.writeFile('probe\n');
    await file.sync();
    return ok(`${dataDir} exists and can be written`);
  } catch (error) {
    return problem(
      `no file can be written in ${dataDir} (${errorCode(error)})`,
      'free some space, or mount the disk for writing',
    );
  } finally {
    await rm(path, { force: true });
  }
}

/** What `statfs` says of a file system. Sizes are in blocks. */
export interface FileSystemFacts {
  type: number;
  bsize: number;
  blocks: number;
  bavail: number;
  /** Inodes. 0 if the file system does not count them. */
  files: number;
  ffree: number;
}

/** The space and the kind of the file system of a data folder. */
export function spaceFacts(dataDir: string, facts: FileSystemFacts, isShared: boolean): Fact[] {
  return [spaceFact(dataDir, facts), inodeFact(facts), kindFact(facts, isShared)].flat();
}

function spaceFact(dataDir: string, { bsize, blocks, bavail }: FileSystemFacts): Fact {
  const freeBytes = bavail * bsize;
  const share = blocks === 0 ? 0 : bavail / blocks;
  if (freeBytes < APPEND_BYTES_MIN) return problem(diskFullWords(dataDir, freeBytes));
  const finding = `${(freeBytes / GIBIBYTE).toFixed(1)} GiB of ${((blocks * bsize) / GIBIBYTE).toFixed(1)} GiB are free`;
  const isLittle = freeBytes < FREE_BYTES_WARN || (share < FREE_SHARE_WARN && freeBytes < FREE_BYTES_ENOUGH);
  return isLittle ? warning(finding, 'free some space, or move the data to a larger disk') : ok(finding);
}

function inodeFact({ files, ffree }: FileSystemFacts): Fact[] {
  if (files === 0) return [];
  const finding = `${formatCount(ffree)} of ${formatCount(files)} files (inodes) are free`;
  if (ffree === 0)
    return [problem(finding, 'delete files of other programs, or move the data to another disk')];
  if (ffree / files < FREE_INODES_SHARE_WARN)
    return [warning(finding, 'look for a folder with very many small files on this disk')];
  return [ok(finding)];
}

function kindFact({ type }: FileSystemFacts, isShared: boolean): Fact[] {
  const network = NETWORK_TYPES[type];
  if (network !== undefined && !isShared)
    return [
      warning(
        `it is on a network file system (${network})`,
        'put dataDir on a disk of this machine: the log and the warehouses need its locks and its fsync',
      ),
    ];
  if (type === TMPFS_TYPE)
    return [warning('it is in memory (tmpfs)', 'put dataDir on a disk: a restart of the machine deletes it')];
  return [];
}
