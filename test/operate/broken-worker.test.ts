import { expect, test } from 'vitest';
import { workerTroubles } from '../../src/operate/storage-troubles.ts';
import { writeControlFile } from '../../src/worker-rpc/control-file.ts';
import type { LocalWorkers } from '../../src/worker-rpc/local-workers.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a worker that was stopped by a signal or killed is a trouble, even if no workgroup has its data open', () => {
  const dataDir = tempDir();
  const { pid } = process;
  const of = (workers: LocalWorkers) => workerTroubles({ dataDir }, workers, 'home', 0);
  expect(of({ kind: 'stopped', pid })).toMatchObject([
    {
      workgroupId: 'home',
      state: 'not-open',
      message: expect.stringContaining(`its worker is process ${pid}`),
    },
  ]);
  // `storageTroubles` already tells that this process holds the data of the workgroup.
  writeControlFile(dataDir, 'home', { port: 1, secret: 's'.repeat(32), pid });
  expect(of({ kind: 'stopped', pid })).toEqual([]);
  expect(of({ kind: 'ended', pid })).toMatchObject([
    {
      message: expect.stringMatching(
        `its worker, process ${pid}, was killed or has crashed; .*"wattline up"`,
      ),
    },
  ]);
  expect([of({ kind: 'living' }), of({ kind: 'none' })]).toEqual([[], []]);
});
