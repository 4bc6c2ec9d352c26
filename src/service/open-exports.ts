import { join } from 'node:path';
import type { createAudit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { Exports } from '../exports/create-exports.ts';
import { MINUTE_MS } from '../lib/time.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { holdExport } from './hold-roles.ts';
import { type BucketLake, openBucketLake } from './open-bucket-lake.ts';
import type { Service } from './service.ts';

/**
 * The exports of this process, with their own reader of the lake, which may also write files.
 * @param bucket the lakes of the bucket if this process has them open. Default: opens them if a bucket is
 *   configured
 * @param workgroups if the configuration can change while the process runs; `exports` then returns the
 *   exports of the moment
 */
export async function openExports(
  config: Config,
  {
    audit,
    bucket,
    clock,
    logger,
  }: Pick<Service, 'clock' | 'logger'> & {
    audit: ReturnType<typeof createAudit>;
    bucket?: BucketLake | undefined;
  },
  workgroups?: Workgroups,
): Promise<{ readonly exports: Exports; readonly lake: LakeReader; close: () => Promise<void> }> {
  const { lakeFolder } = await import('../pipeline/assignment.ts');
  const { hasPublished } = await import('../pipeline/has-published.ts');
  const { openLakeReader } = await import('../report/lake/lake-reader.ts');
  const { createExports } = await import('../exports/create-exports.ts');
  const { openLedger } = await import('../exports/open-ledger.ts');
  const { dataDir } = config;
  const own = bucket ? undefined : await openBucketLake(config, { clock, isCommand: true });
  const source = (bucket ?? own)?.longReadSource;
  const lake = await openLakeReader({
    ...(source
      ? { source }
      : {
          lakeDir: lakeFolder(config),
          hasPublished: (workgroupId: string) => hasPublished(dataDir, workgroupId),
          isForLongReads: true,
        }),
    writeFolders: [join(dataDir, 'exports')],
    threads: config.pipeline.warehouseThreads,
    queriesMax: 1,
    queryMsMax: EXPORT_MS_MAX,
  });
  const hold = (exportId: string) => holdExport(dataDir, exportId, clock);
  const create = (settings: Pick<Config, 'workgroups' | 'exports'>) =>
    createExports({
      config: { ...config, ...settings },
      lake,
      audit,
      clock,
      logger,
      hold,
      openLedger: (one) => openLedger(config, one, clock),
    });
  const settingsNow = (from: Workgroups) => ({
    workgroups: [...from.list()],
    exports: from.list().flatMap(({ id }) => from.exportsOf(id)),
  });
  let exports = create(workgroups ? settingsNow(workgroups) : config);
  const stopFollowing = workgroups?.onChange(({ added, changed, removed }) => {
    if (added.length + changed.length + removed.length > 0) exports = create(settingsNow(workgroups));
  });
  return {
    lake,
    get exports() {
      return exports;
    },
    async close() {
      stopFollowing?.();
      await lake.close();
      await own?.close();
    },
  };
}

const EXPORT_MS_MAX = 20 * MINUTE_MS;
