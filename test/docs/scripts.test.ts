// @module-tag slow
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { ReadBody } from '../../src/contract/messages.ts';
import { python } from '../support/python.ts';
import { blocksOf } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createUpProcess } from '../support/up-process.ts';

const blockOf = (language: string, mark: string) =>
  blocksOf('docs/inputs.md', language).find((text) => text.includes(mark))!;

test('the scripts of docs/inputs.md store a message each', async () => {
  const service = await createUpProcess(
    tempDir(),
    { logLevel: 'silent', workgroups: [{ id: 'home' }] },
    'stream',
  );
  onTestFinished(service.kill);
  await service.start();
  const variables = { WATTLINE_URL: service.url, WATTLINE_TOKEN: service.token };
  const run = async (command: string, script: string) =>
    promisify(execFile)(command, ['-c', script], { env: { PATH: process.env.PATH, ...variables } });
  const stored = async () => {
    const answer = await fetch(`${service.url}/api/v1/tables/home/solar/latest`, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    const { messages } = decodeCbor(new Uint8Array(await answer.arrayBuffer())) as ReadBody;
    return messages.length;
  };

  const { stdout } = await run('sh', blockOf('sh', '--retry 5'));
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 1 });
  expect(await stored()).toBe(1);

  const nodeRed = new Function('msg', 'env', blockOf('js', 'msg.payload'));
  const env = { get: (name: keyof typeof variables) => variables[name] };
  const { url, method, headers, payload } = nodeRed({ payload: 1_204_500 }, env);
  const answer = await fetch(url, { method, headers, body: JSON.stringify(payload) });
  expect(answer.status).toBe(200);
  expect(await stored()).toBe(2);

  if (python === undefined) return;
  await run(python, blockOf('python', 'urllib'));
  expect(await stored()).toBe(3);
});
