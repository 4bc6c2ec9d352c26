import { join } from 'node:path';
import type { createAudit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import type { Exports } from '../exports/create-exports.ts';
import { holdExport } from './hold-roles.ts';
import type { Service } from './service.ts';

/** The exports of this process, with their own reader of the lake, which may also write files. */
export async function openExports(
  config: Config,
  { audit, clock, logger }: Pick<Service, 'clock' | 'logger'> & { audit: ReturnType<typeof createAudit> },
): Promise<{ exports: Exports; close: () => Promise<void> }> {
  const { lakeFolder } = await import('../pipeline/assignment.ts');
  const { hasPublished } = await import('../pipeline/has-published.ts');
  const { openLakeReader } = await import('../report/lake-reader.ts');
  const { createExports } = await import('../exports/create-exports.ts');
  const { dataDir } = config;
  const lake = await openLakeReader({
    lakeDir: lakeFolder(config),
    hasPublished: (workgroupId) => hasPublished(dataDir, workgroupId),
    isLasting: true,
    writeFolders: [join(dataDir, 'exports')],
    threads: config.pipeline.threads,
    queriesMax: 1,
    queryMsMax: EXPORT_MS_MAX,
  });
  const hold = (exportId: string) => holdExport(dataDir, exportId, clock);
  return { exports: createExports({ config, dataDir, lake, audit, clock, logger, hold }), close: lake.close };
}

const EXPORT_MS_MAX = 20 * 60_000;
