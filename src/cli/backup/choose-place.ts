import { resolve } from 'node:path';
import { STATE_FOLDER } from '../../backup/backup-state.ts';
import type { Config } from '../../config/config.ts';
import { storageS3Schema, withAwsVariables } from '../../config/storage-settings.ts';
import { zodProblems } from '../../config/zod-problems.ts';
import { InputError } from '../../lib/errors.ts';
import { inWords } from '../../lib/input-words.ts';
import type { Terminal } from '../../service/terminal.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { openStore, parseStoreAddress } from '../../storage/open-store.ts';
import { repeatRequests } from '../../storage/repeat-requests.ts';

/** Where a backup is: a store for each workgroup, and one for the state next to them. */
export interface Place {
  /** For people: a path, or `s3://bucket/prefix`. */
  name: string;
  of(workgroupId: string): ObjectStore;
  state: ObjectStore;
}

/**
 * The place that the command line names, or `backup.s3` of the configuration.
 * @throws InputError if it is neither a folder nor a bucket, or keys are missing
 */
export function choosePlace(config: Config, { cwd, environment }: Terminal, text: string | undefined): Place {
  const address = addressOf(config, { cwd, environment }, text);
  return {
    name: address.kind === 'folder' ? address.path.replace(/(?<=.)\/$/, '') : bucketAddress(address),
    of: (workgroupId) => repeatRequests(openStore(address, workgroupId)),
    state: openStore(address, STATE_FOLDER),
  };
}

/** A bucket for people: `s3://bucket/prefix`. */
export function bucketAddress({ bucket, prefix }: { bucket: string; prefix: string }): string {
  return `s3://${bucket}/${prefix}`.replace(/\/$/, '');
}

function addressOf(
  config: Config,
  { cwd, environment }: Pick<Terminal, 'cwd' | 'environment'>,
  text: string | undefined,
): Parameters<typeof openStore>[0] {
  const { s3 } = config.backup;
  if (text === undefined) {
    if (s3) return { kind: 's3', ...s3 };
    throw new InputError('the command line', [
      { path: 'place', message: 'is missing: name a folder or s3://bucket/prefix, or configure backup.s3' },
    ]);
  }
  const address = parseStoreAddress(text);
  if (address.kind === 'folder') return { kind: 'folder', path: resolve(cwd, address.path) };
  const { bucket, prefix } = address;
  const access = s3 ?? config.storage.s3;
  if (access) return { ...access, kind: 's3', bucket, prefix };
  const parsed = storageS3Schema.safeParse(withAwsVariables({ bucket, prefix }, environment), inWords);
  if (!parsed.success)
    throw new InputError(
      `the access to ${text} (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or configure backup.s3)`,
      zodProblems(parsed.error),
    );
  return { kind: 's3', ...parsed.data };
}
