import type { ObjectStore } from './object-store.ts';
import { openStore } from './open-store.ts';
import type { S3Settings } from './s3-store.ts';

/** Facts that all workgroups of an installation share. An id of a workgroup cannot contain a dot. */
const SERVICE_FOLDER = '.service';

interface StorageSettings {
  s3?: S3Settings | undefined;
}

/** The place of a workgroup's replica in the bucket. Undefined if no bucket is configured. */
export function workgroupStore({ s3 }: StorageSettings, workgroupId: string): ObjectStore | undefined {
  return s3 && openStore({ kind: 's3', ...s3 }, workgroupId);
}

/** The place of what all workgroups share. Undefined if no bucket is configured. */
export function serviceStore({ s3 }: StorageSettings): ObjectStore | undefined {
  return s3 && openStore({ kind: 's3', ...s3 }, SERVICE_FOLDER);
}
