import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { requireStream } from '../../src/service/require-stream.ts';

const nobody = 'http://127.0.0.1:1';
const s3 = { endpoint: 'http://127.0.0.1:2', bucket: 'energy', accessKeyId: 'a', secretAccessKey: 's' };
const machines: ConfigInput = {
  queue: { backend: 'redis', redisUrl: 'redis://127.0.0.1:3' },
  storage: { s3 },
};
const own = ['a', 'b', 'c', 'd'].map((id) => ({ id }));

function check(input: ConfigInput, address = nobody): Promise<void> {
  const config = configSchema.parse(input);
  return requireStream(config, createWorkgroups(config), address);
}

test('a worker of several machines needs a stream on its machine for workgroups without an upstream', async () => {
  await expect(check({ ...machines, workgroups: own })).rejects.toMatchObject({
    code: 'StreamUnreachable',
    message: expect.stringMatching(
      /^no stream answers at http:\/\/127\.0\.0\.1:1 \(.+\), .*\(a, b, c and 1 more\); run "wattline up"/,
    ),
  });
});

test.each<[string, ConfigInput]>([
  ['on one machine the worker waits', { workgroups: own }],
  ['a shared folder', { ...machines, storage: { shared: true }, workgroups: own }],
  ['without workgroups', machines],
  [
    'every workgroup has an upstream',
    { ...machines, workgroups: [{ id: 'a', upstream: { url: 'https://api.example.com', token: 't' } }] },
  ],
])('no stream is needed: %s', async (_, input) => {
  await expect(check(input)).resolves.toBeUndefined();
});

test('every answer is one of a running stream', async () => {
  const server = createServer((_, response) => response.writeHead(503).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await expect(check({ ...machines, workgroups: own }, `http://127.0.0.1:${port}`)).resolves.toBeUndefined();
});
