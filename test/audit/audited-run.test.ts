// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { createTestClock, openWorker, startUpstream, TEST_START_MS } from '../backfill/backfill-fixture.ts';
import { openExportFixture } from '../exports/exports-fixture.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The audit entries that wait, as readers of the audit log will see them. */
function noted(dataDir: string, workgroupId: string) {
  const spool = openAuditSpool(dataDir, workgroupId);
  return spool
    .waiting()
    .map((name) => spool.read(name)!)
    .map(({ action, target, data }) => [action, target, data]);
}

test('an export is recorded at its start, and at its delivery or failure', async () => {
  const noFolder = join(tempDir(), 'file');
  writeFileSync(noFolder, '');
  const at = await openExportFixture([{}, { destination: { folder: join(noFolder, 'below') } }]);
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, energyWh: 10 }]);
  await at.publish();
  const { signal } = new AbortController();
  await at.exports.run('export1', { corrected: false }, signal);
  await at.exports.run('export2', { corrected: false }, signal).catch(() => undefined);
  expect(noted(at.dataDir, WORKGROUP)).toMatchObject([
    ['export.started', 'export1 2026-11-19', { report: 'daily_energy', attempt: 1 }],
    ['export.finished', 'export1 2026-11-19', {}],
    ['export.started', 'export2 2026-11-19', { report: 'daily_energy', attempt: 1 }],
    ['export.failed', 'export2 2026-11-19', { error: expect.any(String) }],
  ]);
});

test('a backfill is recorded at its start and its end, without a token', async () => {
  const clock = createTestClock();
  const upstream = await startUpstream(clock);
  await upstream.speakFor(60_000);
  const worker = await openWorker(clock);
  const request = { source: 'stream' as const, fromMs: TEST_START_MS, messagesPerSecond: 1_000_000 };
  const address = await upstream.address();
  await worker.poll(address);
  await worker.backfill(request, address);
  await worker.backfill(request, { ...address, token: 'none' }).catch(() => undefined);
  const entries = noted(worker.dataDir, 'acme');
  expect(entries.map(([action]) => action)).toEqual([
    'backfill.started',
    'backfill.finished',
    'backfill.started',
    expect.stringMatching(/^backfill\.(failed|finished)$/),
  ]);
  expect(JSON.stringify(entries)).not.toContain(address.token!.split('.')[2]);
});
