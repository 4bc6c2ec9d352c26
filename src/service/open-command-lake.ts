import type { Config } from '../config/config.ts';
import { keepFilesPrivate } from '../lib/private-files.ts';
import { lakeFolder } from '../pipeline/assignment.ts';
import { type LakeReader, openLakeReader } from '../report/lake/lake-reader.ts';
import { openBucketLake } from './open-bucket-lake.ts';
import { requireDataDir } from './require-data-dir.ts';
import type { Service } from './service.ts';

/** Opens the lakes for a command. With a bucket, it reads what `wattline report` reads. */
export async function openCommandLake(config: Config, service: Pick<Service, 'clock'>): Promise<LakeReader> {
  if (config.storage.s3) {
    // Its lock and its cache are in the data folder.
    keepFilesPrivate(config.dataReaders);
    requireDataDir(config.dataDir, config.dataReaders);
  }
  const bucket = await openBucketLake(config, { clock: service.clock, isCommand: true });
  const lake = await openLakeReader(bucket ? { source: bucket.source } : { lakeDir: lakeFolder(config) });
  return {
    ...lake,
    async close() {
      await lake.close();
      await bucket?.close();
    },
  };
}
