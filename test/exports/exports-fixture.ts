import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createAudit } from '../../src/audit/audit.ts';
import { type Config, type ConfigInput, configSchema } from '../../src/config/config.ts';
import { createExports, type Exports } from '../../src/exports/create-exports.ts';
import type { ExportLedger } from '../../src/exports/export-ledger.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type LakeReader, openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { holdExport } from '../../src/service/hold-roles.ts';
import { type Fixture, openFixture, WORKGROUP } from '../publish/publish-fixture.ts';
import { atEnd } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

type ExportInput = NonNullable<ConfigInput['exports']>[number];
type Settings = Partial<NonNullable<ConfigInput['workgroups']>[number]>;

export interface ExportFixture extends Fixture {
  dataDir: string;
  /** Where files are delivered to, unless the export says otherwise. */
  target: string;
  config: Config;
  lake: LakeReader;
  exports: Exports;
  /** The exports of a new process with the same data folder. */
  restart(): Exports;
  ledger(id?: string): ExportLedger;
  /** One turn of the job. */
  work(): Promise<void>;
}

/** A real warehouse and lake, and exports of it with a clock that the test moves. */
export async function openExportFixture(
  exports: ReadonlyArray<Partial<ExportInput>>,
  settings: Settings = {},
  service: Pick<ConfigInput, 'mail' | 'http'> = {},
): Promise<ExportFixture> {
  const dataDir = tempDir();
  const target = join(dataDir, 'target');
  const clock = createTestClock();
  const input = {
    dataDir,
    ...service,
    workgroups: [{ id: WORKGROUP, ...settings }],
    exports: exports.map((one, index) => ({
      id: `export${index + 1}`,
      workgroup: WORKGROUP,
      report: 'daily_energy' as const,
      range: 'yesterday' as const,
      groupBy: 'source' as const,
      format: 'csv' as const,
      destination: { folder: target },
      ...one,
    })),
  };
  writeFileSync(join(dataDir, 'wattline.yaml'), stringify(input));
  const config = configSchema.parse(input);
  const fixture = await openFixture(dataDir, clock, [], config.workgroups[0]!);
  atEnd(() => fixture.shard.close());
  mkdirSync(join(dataDir, 'exports'), { recursive: true });
  const lake = await openLakeReader({
    lakeDir: fixture.lakeDir,
    writeFolders: [join(dataDir, 'exports')],
  });
  atEnd(() => lake.close());
  const audit = createAudit({ dataDir, actor: 'test', clock });
  const restart = () =>
    createExports({
      config,
      lake,
      audit,
      clock,
      logger: silentLogger,
      hold: (exportId) => holdExport(dataDir, exportId, clock),
      openLedger: ({ id }) => openFolderLedger(dataDir, id),
    });
  const created = restart();
  return {
    ...fixture,
    dataDir,
    target,
    config,
    lake,
    exports: created,
    restart,
    ledger: (id = 'export1') => openFolderLedger(dataDir, id),
    work: () => created.work(WORKGROUP, new AbortController().signal),
  };
}
