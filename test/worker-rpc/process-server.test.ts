import { expect, onTestFinished, test } from 'vitest';
import { listProcessFiles } from '../../src/worker-rpc/process-file.ts';
import type { ProcessOperations } from '../../src/worker-rpc/process-rpc.ts';
import { startProcessServer } from '../../src/worker-rpc/process-server.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Starts the server of a process with one operation. */
async function startForTest() {
  const dataDir = tempDir();
  let calls = 0;
  const operations = {
    inputs: async () => {
      calls += 1;
      return [];
    },
  } as unknown as { [Name in keyof ProcessOperations]: () => Promise<ProcessOperations[Name]> };
  const stop = await startProcessServer({ dataDir, roles: ['stream'], operations });
  const [{ file }] = listProcessFiles(dataDir) as [ReturnType<typeof listProcessFiles>[number]];
  const ask = async (path: string, authorization: string | undefined, method = 'POST') => {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await fetch(`http://127.0.0.1:${file.port}${path}`, { method, headers });
    return { status: response.status, body: (await response.json()) as object };
  };
  return { dataDir, stop, ask, secret: file.secret, calls: () => calls };
}

test('an operation runs only for a POST with the secret of the process', async () => {
  const { stop, ask, secret, calls } = await startForTest();
  onTestFinished(stop);
  const refused = { status: 401, body: {} };
  for (const authorization of [undefined, 'Bearer ', `Bearer ${secret}A`, `Bearer ${secret.slice(0, -1)}`])
    expect(await ask('/inputs', authorization)).toEqual(refused);
  expect(await ask('/inputs', `Bearer ${secret}`, 'GET')).toEqual(refused);
  expect(calls()).toBe(0);
  expect(await ask('/inputs', `Bearer ${secret}`)).toEqual({ status: 200, body: { result: [] } });
  expect(calls()).toBe(1);
});

test('an operation that does not exist is refused with words, and the file is gone after the end', async () => {
  const { dataDir, stop, ask, secret } = await startForTest();
  for (const path of ['/toString', '/nothing', '/'])
    expect(await ask(path, `Bearer ${secret}`)).toMatchObject({
      status: 422,
      body: { error: { code: 'UnknownOperation' } },
    });
  await stop();
  expect(listProcessFiles(dataDir)).toEqual([]);
  await expect(ask('/inputs', `Bearer ${secret}`)).rejects.toThrow();
});
