import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { machineName } from '../../src/lib/machine-name.ts';
import { systemClock } from '../../src/lib/time.ts';
import { readWorkgroupStates } from '../../src/operate/workgroup-state.ts';
import { createStatusBook, emptyStatus } from '../../src/pipeline/workgroup-status.ts';
import { writeWorkerFile } from '../../src/worker-rpc/control-file.ts';
import { loadConfig } from '../support/load-config.ts';
import { tempDir } from '../support/temp-dir.ts';

test('in a shared folder, the work is found on another machine if the worker of this machine was killed', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroups: [{ id: home }]');
  const config = loadConfig({ cwd, environment: {} });
  const killed = spawnSync('true').pid;
  const worker = { port: 1, secret: 's'.repeat(32), pid: killed, machine: machineName() };
  writeWorkerFile(config.dataDir, worker);
  // The worker of the other machine writes its status to the shared folder.
  const book = createStatusBook({ dataDir: config.dataDir, clock: systemClock, logger: silentLogger });
  book.update('home', 'poll', { upToDate: true });
  await book.flush();
  const source = {
    config,
    workgroups: config.workgroups,
    exportsOf: () => [],
    findStream: async () => undefined,
    control: {
      ask: async () => ({ kind: 'not-running' as const }),
      locate: async () => ({ machine: 'other', status: emptyStatus('home', systemClock.now()) }),
    },
    clock: systemClock,
  };
  expect(await readWorkgroupStates(source, config.workgroups, { withEffects: false })).toMatchObject([
    { state: 'running', machine: 'other', troubles: [] },
  ]);
});
