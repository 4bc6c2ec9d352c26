import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { auditRun } from '../../src/audit/audited-run.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { createImportJob } from '../../src/import/import-job.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, fileOf, testWorkgroup } from './import-fixture.ts';

function setUp() {
  const dataDir = tempDir();
  const noted = (workgroupId: string) => {
    const spool = openAuditSpool(dataDir, workgroupId);
    return spool.waiting().map((name) => spool.read(name)!);
  };
  return { dataDir, audit: createAudit({ dataDir, actor: 'operator' }), noted };
}

test('an import is recorded at its start and at its end, with its result', { tags: ['slow'] }, async () => {
  const { audit, noted } = setUp();
  const shard = await openTestShard();
  const workgroup = testWorkgroup();
  const imports = createImportJob(shard, {
    workgroup,
    threads: 2,
    audit,
    clock: systemClock,
    logger: silentLogger,
  });
  const mapping = mappingSchema.parse({
    time: { column: 'time' },
    device: { id: DEVICE },
    fields: { total: 'total' },
  });
  const run = async (path: string) => {
    imports.start({ path, table: 'solar', mapping });
    await until('the import has ended', async () => (await imports.state()).kind !== 'running');
  };
  const path = fileOf('export.csv', 'time,total\n2024-06-01T00:00:00Z,1\n2024-06-01T00:15:00Z,x\n');
  await run(path);
  await run(path);
  const missing = join(path, '..', 'missing.csv');
  await expect(run(missing)).rejects.toThrow('missing.csv');
  const told = noted(workgroup.id).map(({ actor, action, target, data }) => [actor, action, target, data]);
  expect(told).toEqual([
    ['operator', 'import.started', path, { table: 'solar' }],
    ['operator', 'import.finished', path, { outcome: 'landed', rowsRead: 2, rowsLanded: 1, rowsRejected: 1 }],
    ['operator', 'import.started', path, { table: 'solar' }],
    [
      'operator',
      'import.finished',
      path,
      { outcome: 'landed-before', rowsRead: 2, rowsLanded: 1, rowsRejected: 1 },
    ],
    ['operator', 'import.started', missing, { table: 'solar' }],
    ['operator', 'import.failed', missing, { error: 'InvalidInput' }],
  ]);
});

test('failed work is recorded with its error code alone, and work that cannot be recorded does not begin', async () => {
  const { audit, noted } = setUp();
  const failure = new TransientError('DiskFull', 'a text with a secret in it');
  const run = {
    what: 'export',
    target: 'days.csv',
    work: () => Promise.reject(failure),
    summary: () => ({}),
  } as const;
  await expect(auditRun(audit, 'home', run)).rejects.toBe(failure);
  expect(noted('home').map(({ action, data }) => [action, data])).toEqual([
    ['export.started', undefined],
    ['export.failed', { error: 'DiskFull' }],
  ]);
  let begun = false;
  const work = async () => {
    begun = true;
  };
  const nowhere = createAudit({ dataDir: '/dev/null/nowhere', actor: 'operator' });
  await expect(auditRun(nowhere, 'home', { ...run, work })).rejects.toThrow('ENOTDIR');
  expect(begun).toBe(false);
});
