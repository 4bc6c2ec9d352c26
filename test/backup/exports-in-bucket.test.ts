import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ExportLedger, ExportRun } from '../../src/exports/export-ledger.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { openStoredLedger } from '../../src/exports/stored-ledger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { createS3Store, type S3Settings } from '../../src/storage/s3-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { machine, work } from '../replica/replica-fixture.ts';
import { runCommand } from '../support/run-command.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

const file = Buffer.from('day,energy_wh\r\n2026-11-19,5\r\n');
const sha256 = createHash('sha256').update(file).digest('hex');
const facts = { rows: 1, generation: 1, zone: 'Etc/UTC', energyWh: 5, rowsHash: '', days: [] };

function runOf(period: string, state: ExportRun['state']): ExportRun {
  return {
    format: 1,
    exportId: 'daily',
    workgroupId: WORKGROUP,
    report: 'daily_energy',
    period,
    startDay: period,
    endDay: period,
    revision: 1,
    reason: 'schedule',
    state,
    plannedAt: `${period}T06:00:00Z`,
    attempts: 1,
    file: { name: `daily_${period}.csv`, bytes: file.length, sha256, ...facts },
  };
}

function storeOf(s3: S3Settings) {
  return createS3Store({ ...s3, prefix: `${s3.prefix}${WORKGROUP}/` });
}

const ledgerOf = (s3: S3Settings) =>
  openStoredLedger({ store: storeOf(s3), exportId: 'daily', outbox: tempDir(), clock: systemClock });

/** A machine with a data folder of its own. Without a bucket its state is in the folder. */
function machineWith(s3: S3Settings | undefined) {
  const cwd = tempDir();
  const { timeouts: _, ...bucket } = s3 ?? {};
  const config = { workgroups: [{ id: WORKGROUP }], ...(s3 && { storage: { s3: bucket } }) };
  writeFileSync(join(cwd, 'wattline.yaml'), stringify(config));
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand([...args, '--json'], { cwd });
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  return { dataDir: join(cwd, 'data'), run };
}

async function contentOf(ledger: ExportLedger) {
  const [waiting] = await ledger.pending();
  const bytes =
    waiting && (await ledger.provideFile(waiting))
      ? readFileSync(join(ledger.outbox, waiting.file!.name))
      : undefined;
  return { runs: await ledger.runs(), dueAfter: (await ledger.progress())?.dueAfter, bytes };
}

test.skipIf(s3Missing)(
  'the export ledger of a bucket is in a backup, and is restored into another bucket or a data folder',
  { timeout: 240_000 },
  async () => {
    const s3 = await s3ForTests();
    const owner = await work(machine(), storeOf(s3));
    await owner.owner.mirror(await owner.grow());
    await owner.shard.close();
    const ledger = ledgerOf(s3);
    const dueAfter = '2026-11-20T06:00:00Z';
    await ledger.setProgress({ dueAfter });
    const [delivered, waiting] = [runOf('2026-11-18', 'delivered'), runOf('2026-11-19', 'waiting')];
    await ledger.save(delivered);
    mkdirSync(ledger.outbox, { recursive: true });
    writeFileSync(join(ledger.outbox, waiting.file!.name), file);
    await ledger.keepFile(waiting.file!);
    await ledger.save(waiting);
    const content = { runs: [delivered, waiting], dueAfter, bytes: file };

    const place = join(tempDir(), 'backup');
    // Another machine than the one with the files.
    const one = machineWith(s3);
    const { state } = await one.run('backup', place);
    expect(state.files).toBeGreaterThanOrEqual(4);
    expect(readdirSync(join(one.dataDir, 'backup'))).toEqual([]);

    const other = await s3ForTests();
    const existing = { ...delivered, attempts: 9 };
    await ledgerOf(other).save(existing);
    const restored = await machineWith(other).run('restore', place);
    expect(restored.state.runs).toEqual({ copied: 1, kept: 1 });
    expect(await contentOf(ledgerOf(other))).toEqual({ ...content, runs: [existing, waiting] });

    const folder = machineWith(undefined);
    await folder.run('restore', place);
    expect(await contentOf(openFolderLedger(folder.dataDir, 'daily'))).toEqual(content);

    // And from a data folder into a bucket.
    const second = join(tempDir(), 'backup');
    await folder.run('backup', second);
    const third = await s3ForTests();
    const last = machineWith(third);
    await last.run('restore', second);
    expect(await contentOf(ledgerOf(third))).toEqual(content);
    expect(existsSync(join(last.dataDir, 'exports'))).toBe(false);
  },
);
