import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { copyLedger } from '../../exports/copy-ledger.ts';
import { openFolderLedger } from '../../exports/folder-ledger.ts';
import { openStoredLedger, storedExportIds } from '../../exports/stored-ledger.ts';
import type { Service } from '../../service/service.ts';
import { workgroupStore } from '../../storage/workgroup-store.ts';

/**
 * Copies the export ledgers of workgroups from the bucket to `exports/` below a folder, as a backup has them.
 */
export async function exportsFromBucket(
  { storage }: Pick<Config, 'storage'>,
  { clock, signal }: Pick<Service, 'clock' | 'signal'>,
  workgroups: readonly WorkgroupConfig[],
  root: string,
): Promise<void> {
  for (const { id } of workgroups) {
    const store = workgroupStore(storage, id)!;
    for (const exportId of await storedExportIds(store)) {
      const outbox = join(root, 'outbox', exportId);
      const stored = openStoredLedger({ store, exportId, outbox, clock });
      await copyLedger(stored, openFolderLedger(root, exportId), signal);
    }
  }
}

/**
 * Copies export ledgers of workgroups from `exports/` below a folder into the bucket. Runs that exist there
 * stay as they are.
 * @returns how many runs were copied, and how many existed
 */
export async function exportsToBucket(
  { storage, exports }: Pick<Config, 'storage' | 'exports'>,
  { clock, signal }: Pick<Service, 'clock' | 'signal'>,
  workgroupIds: readonly string[],
  root: string,
): Promise<{ copied: number; kept: number }> {
  const folder = join(root, 'exports');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const sum = { copied: 0, kept: 0 };
  for (const exportId of await readdir(folder)) {
    const ledger = openFolderLedger(root, exportId);
    const [run] = await ledger.runs();
    const owner = run?.workgroupId ?? exports.find(({ id }) => id === exportId)?.workgroup;
    if (owner === undefined || !workgroupIds.includes(owner)) continue;
    const store = workgroupStore(storage, owner)!;
    const { outbox } = ledger;
    const { copied, kept } = await copyLedger(
      ledger,
      openStoredLedger({ store, exportId, outbox, clock }),
      signal,
    );
    sum.copied += copied;
    sum.kept += kept;
  }
  return sum;
}
