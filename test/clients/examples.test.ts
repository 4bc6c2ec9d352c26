// @module-tag slow
import { spawn } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { encodeMessages } from '../../src/contract/encode-messages.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { deviceId, telemetryBatch } from '../support/messages.ts';
import { MISSING, python } from '../support/python.ts';
import { rounds } from '../support/rounds.ts';
import { startStreamService } from '../support/stream-service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'stream.md'), 'utf8');
const blockOf = (pattern: RegExp) => pattern.exec(page)![1]!;

const examples = [
  {
    name: 'in JavaScript',
    file: 'follow.mjs',
    code: blockOf(/follow\.mjs <<'END'\n(.*?)\nEND\n/s),
    command: process.execPath,
  },
  { name: 'in Python', file: 'follow.py', code: blockOf(/```python\n(.*?)```/s), command: python },
];

test.for(examples)(
  'the example $name of the documentation follows the stream',
  async ({ file, code, command }, context) => {
    if (command === undefined) return context.skip(MISSING);
    const service = await startStreamService();
    const log = await service.stream.logOf('acme');
    const output = run(service.baseUrl, file, code, command, await service.token());
    await until('it has subscribed', () => service.socket.counts().subscriptions === 1);
    await log.append(telemetryBatch(1));
    await log.append(
      encodeMessages([{ device: deviceId(2), state: 'offline', event_time: Date.now() }], 'devices'),
    );
    await until('both messages came', () => /telemetry.*device_status/s.test(output()));
    expect(output()).toContain(deviceId(2));
    service.stream.drain();
    await until('it says why it ended', () => output().includes('server_draining'));
  },
);

test('the Python example handles frames in order and once, even if its connection is cut', async (context) => {
  const { name: _, file, code, command } = examples[1]!;
  if (command === undefined) return context.skip(MISSING);
  const service = await startStreamService();
  const log = await service.stream.logOf('acme');
  const way = await startCuttingProxy(Number(new URL(service.baseUrl).port));
  onTestFinished(() => way.close());
  const output = run(`http://127.0.0.1:${way.port}`, file, code, command, await service.token());
  const hasSubscribed = () => service.socket.counts().subscriptions === 1;
  const hasHandled = (number: number) => output().includes(`'msg_id': ${number},`);
  let appended = 0;
  /** Appends batches that take long to handle, and after each a batch that comes meanwhile. */
  const appendMany = async () => {
    for (const count of [1_000, 1, 1_000, 1, 1_000, 1]) {
      await log.append(telemetryBatch(count, { first: appended }));
      appended += count;
    }
  };
  await until('it has subscribed', hasSubscribed);
  for (let cut = 0; cut < rounds(1, 5); cut++) {
    const first = appended;
    await appendMany();
    await until('the first came', () => hasHandled(first));
    way.cut();
    await until('it was cut off', () => service.socket.counts().sockets === 0);
    await appendMany();
    way.mend();
    await until('it is there again', hasSubscribed);
  }
  await appendMany();
  await until('the last came', () => hasHandled(appended - 1));
  const numbers = output()
    .match(/(?<='msg_id': )\d+/g)!
    .map(Number);
  expect(numbers).toEqual(Array.from({ length: appended }, (_, number) => number));
});

/** Runs an example as a reader of the page would, with another address and workgroup. Returns its output. */
function run(url: string, file: string, code: string, command: string, token: string): () => string {
  const folder = tempDir();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const own = code.replace('http://127.0.0.1:8080', url).replace(/(["'])home\1/, '$1acme$1');
  writeFileSync(join(folder, file), own);
  const child = spawn(command, [file], { cwd: folder, env: { ...process.env, TOKEN: token } });
  onTestFinished(() => void child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes) => {
      output += bytes;
    });
  return () => output;
}
