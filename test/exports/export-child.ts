import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createAudit } from '../../src/audit/audit.ts';
import { configSchema } from '../../src/config/config.ts';
import { createExports } from '../../src/exports/create-exports.ts';
import { openStoredLedger } from '../../src/exports/stored-ledger.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';

/**
 * A machine that runs an export once. It shares the bucket and the lake with others, and not its data folder.
 */
export interface ExportChild {
  dataDir: string;
  lakeDir: string;
  bucket: string;
  /** The webhook of the export. */
  url: string;
  nowMs: number;
}

const { dataDir, lakeDir, bucket, url, nowMs } = JSON.parse(process.argv[2]!) as ExportChild;
const startedAtMs = performance.now();
const clock = { now: () => nowMs + Math.round(performance.now() - startedAtMs) };
const config = configSchema.parse({
  dataDir,
  workgroups: [{ id: WORKGROUP }],
  exports: [
    {
      id: 'export1',
      workgroup: WORKGROUP,
      report: 'daily_energy',
      range: 'yesterday',
      groupBy: 'source',
      format: 'csv',
      destination: { webhook: { url } },
    },
  ],
});
mkdirSync(join(dataDir, 'exports'), { recursive: true });
const lake = await openLakeReader({ lakeDir, writeFolders: [join(dataDir, 'exports')] });
const exports = createExports({
  config,
  lake,
  audit: createAudit({ dataDir, actor: 'test', clock }),
  clock,
  logger: silentLogger,
  hold: async () => async () => undefined,
  openLedger: ({ id }) =>
    openStoredLedger({
      store: createFolderStore(bucket),
      exportId: id,
      outbox: join(dataDir, 'exports', id, 'outbox'),
      clock,
    }),
});
await exports.run('export1', { corrected: false }, new AbortController().signal);
await lake.close();
