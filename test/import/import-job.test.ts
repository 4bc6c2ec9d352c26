// @module-tag slow
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { createImportJob, type ImportState } from '../../src/import/import-job.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, fileOf, testWorkgroup } from './import-fixture.ts';

const mapping = mappingSchema.parse({
  time: { column: 'time' },
  device: { id: DEVICE },
  fields: { total: 'total' },
});

async function openImportJob() {
  return createImportJob(await openTestShard(), {
    workgroup: testWorkgroup(),
    threads: 2,
    audit: createAudit({ dataDir: tempDir(), actor: 'operator' }),
    clock: systemClock,
    logger: silentLogger,
  });
}

test('the state of an import shows the check of the file, then its rows, then the result', async () => {
  const imports = await openImportJob();
  expect(await imports.state()).toEqual({ kind: 'idle' });
  const content = 'time,total\n2024-06-01T00:00:00Z,1\n2024-06-01T00:15:00Z,x\n2024-06-01T00:30:00Z,2\n';
  const path = fileOf('export.csv', content);
  imports.start({ path, table: 'solar', mapping });
  const states: ImportState[] = [];
  do {
    states.push(await imports.state());
    await setImmediate();
  } while (states.at(-1)!.kind === 'running');
  const fileBytes = content.length;
  const counts = { rowsRead: 3, rowsLanded: 2, rowsRejected: 1 };
  expect([states[0], states.at(-2), states.at(-1)]).toMatchObject([
    { kind: 'running', path, progress: { phase: 'checking', fileBytes, rowsRead: 0, rowsLanded: 0 } },
    {
      kind: 'running',
      path,
      progress: { phase: 'landing', fileBytes, bytesChecked: fileBytes, ...counts },
    },
    { kind: 'ended', path, outcome: { kind: 'landed', counts } },
  ]);
});

test('one file is imported at a time: the same one again changes nothing, and another one is refused', async () => {
  const imports = await openImportJob();
  const path = fileOf('export.csv', 'time,total\n2024-06-01T00:00:00Z,1\n');
  const request = { path, table: 'solar', mapping };
  imports.start(request);
  imports.start({ ...request });
  for (const other of [
    { ...request, path: fileOf('other.csv', '') },
    { ...request, table: 'roof' },
    { ...request, shownPath: 'shown.csv' },
  ])
    expect(() => imports.start(other)).toThrow(
      expect.objectContaining({
        code: 'ImportRunning',
        message: `${path} is being imported; wait until it has finished`,
      }),
    );
  await imports.stop();
  await expect(imports.state()).rejects.toMatchObject({
    code: 'ImportStopped',
    message: `the import of ${path} was stopped; run the import again to continue`,
  });
  imports.start(request);
  await until('the import has ended', async () => (await imports.state()).kind === 'ended');
});
