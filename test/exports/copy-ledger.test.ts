import { expect, test } from 'vitest';
import { copyLedger } from '../../src/exports/copy-ledger.ts';
import type { ExportRun } from '../../src/exports/export-ledger.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { tempDir } from '../support/temp-dir.ts';

function runOf(period: string, attempts: number): ExportRun {
  return {
    ...{ format: 1, exportId: 'daily', workgroupId: 'acme', report: 'daily_energy', period },
    ...{ startDay: period, endDay: period, revision: 1, reason: 'schedule', state: 'delivered' },
    ...{ plannedAt: `${period}T06:00:00Z`, attempts },
  };
}

test('a copied ledger adds the runs that are missing, and an older one does not set the schedule back', async () => {
  const [from, to] = [openFolderLedger(tempDir(), 'daily'), openFolderLedger(tempDir(), 'daily')];
  await from.save(runOf('2026-11-18', 1));
  await from.save(runOf('2026-11-19', 1));
  await from.setProgress({ dueAfter: '2026-11-20T06:00:00Z' });
  await to.save(runOf('2026-11-18', 9));
  await to.setProgress({ dueAfter: '2026-11-22T06:00:00Z' });
  expect(await copyLedger(from, to)).toEqual({ copied: 1, kept: 1 });
  expect((await to.runs()).map(({ period, attempts }) => [period, attempts])).toEqual([
    ['2026-11-18', 9],
    ['2026-11-19', 1],
  ]);
  expect((await to.progress())?.dueAfter).toBe('2026-11-22T06:00:00Z');
  const empty = openFolderLedger(tempDir(), 'daily');
  await copyLedger(from, empty);
  expect((await empty.progress())?.dueAfter).toBe('2026-11-20T06:00:00Z');
});
