import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { askProcesses } from '../../src/worker-rpc/process-rpc.ts';
import { listenLocally, sendRpc } from '../../src/worker-rpc/rpc-http.ts';
import { CONTROL_HEADER } from '../../src/worker-rpc/rpc-wire.ts';
import { tempDir } from '../support/temp-dir.ts';

test('the answers of processes come in the order of their ids, without those of ended processes', async () => {
  const dataDir = tempDir();
  const folder = join(dataDir, 'control', 'processes');
  mkdirSync(folder, { recursive: true });
  const server = createServer((request, response) => {
    response.setHeader(CONTROL_HEADER, '1');
    sendRpc(response, 200, { result: request.url });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const running = [process.pid, process.ppid].sort((one, other) => one - other);
  for (const [index, pid] of [...running.toReversed(), spawnSync('true').pid].entries()) {
    const file = { pid, host: hostname(), port, secret: 's'.repeat(32), roles: ['report'] };
    writeFileSync(join(folder, `${index}.json`), JSON.stringify(file));
  }
  expect(await askProcesses(dataDir, 'inputs')).toEqual(
    running.map((processId) => ({
      processId,
      roles: ['report'],
      outcome: { kind: 'answer', answer: '/inputs' },
    })),
  );
});

test('a busy process has as long to read a request as its caller waits', async () => {
  const server = await listenLocally(() => undefined);
  onTestFinished(() => void server.close());
  expect(server.headersTimeout).toBe(MINUTE_MS);
  expect(server.requestTimeout).toBe(MINUTE_MS);
});
