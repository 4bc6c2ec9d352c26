import { expect, onTestFinished, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { inputTroubles } from '../../src/operate/input-troubles.ts';
import { startProcessServer } from '../../src/worker-rpc/process-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const NOW_MS = Date.UTC(2026, 10, 20);
const rules = [
  { topic: 'a', device: '7c9e6679-7425-40de-944b-e07fc1f90ae1', table: 't', fields: { wh: '/wh' } },
];
const workgroup = workgroupSchema.parse({
  id: 'home',
  inputs: { mqtt: [{ id: 'house', url: 'mqtt://broker.example', rules }] },
});

/** The troubles beside a process that runs no input, and has read the configuration long ago. */
async function troublesBeside({
  role = 'stream',
  log = 'lmdb' as 'lmdb' | 'redis',
  readAgoMs = 60 * SECOND_MS,
}) {
  const dataDir = tempDir();
  const operations = {
    inputs: async () => [],
    configState: async () => ({ loadedAtMs: NOW_MS - readAgoMs, needRestart: [] }),
    reload: () => Promise.reject(new Error('nobody asks for it')),
  };
  onTestFinished(await startProcessServer({ dataDir, roles: [role], operations }));
  const config = { dataDir, stream: { log } } as Parameters<typeof inputTroubles>[0];
  return inputTroubles(config, [workgroup], { now: () => NOW_MS });
}

test('an input that the stream process does not have is a trouble', async () => {
  expect(await troublesBeside({})).toEqual([
    {
      workgroupId: 'home',
      stage: 'input',
      state: 'disconnected',
      sinceMs: NOW_MS,
      message: expect.stringMatching(
        /^input "house" .* the running service does not have it; run "wattline reload"$/,
      ),
    },
  ]);
});

test.each([
  ['a process of another machine can have it, because the log is in Redis', { log: 'redis' as const }],
  ['the process read the configuration a moment ago', { readAgoMs: 10 * SECOND_MS }],
  ['no stream process answers', { role: 'worker' }],
])('it is no trouble if %s', async (_, beside) => {
  expect(await troublesBeside(beside)).toEqual([]);
});
