import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import { type Clock, systemClock } from '../lib/time.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import type { ExportLedger } from './export-ledger.ts';
import { openFolderLedger } from './folder-ledger.ts';
import { openStoredLedger } from './stored-ledger.ts';

/**
 * Opens the ledger of an export: in the bucket of `storage.s3`, or else in the data folder. Reads nothing.
 */
export function openLedger(
  { dataDir, storage }: Pick<Config, 'dataDir' | 'storage'>,
  { id, workgroup }: Pick<ExportConfig, 'id' | 'workgroup'>,
  clock: Clock = systemClock,
): ExportLedger {
  const store = workgroupStore(storage, workgroup);
  if (!store) return openFolderLedger(dataDir, id);
  return openStoredLedger({ store, exportId: id, outbox: join(dataDir, 'exports', id, 'outbox'), clock });
}
