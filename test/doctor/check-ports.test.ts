import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { checkPorts } from '../../src/doctor/check-ports.ts';
import { freePort } from '../support/free-port.ts';

async function usedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** @param own the ports of the running processes of the data folder */
async function findingsOf(http: object, own: readonly number[] = []): Promise<string[]> {
  const config = configSchema.parse({ http: { host: '127.0.0.1', ...http } });
  const facts = await checkPorts(config, async () => own.map((port) => `http://127.0.0.1:${port}`)).run(
    new AbortController().signal,
  );
  return facts.map(({ state, found, next }) => `${state}: ${found}${next === undefined ? '' : `; ${next}`}`);
}

test('each port is free, or used by an own process, or by another program', async () => {
  const [port, streamPort, reportPort] = [await usedPort(), await freePort(), await usedPort()];
  const ports = { port, streamPort, reportPort };
  const others = 'is used by another program, or by a service with another data folder';
  expect(await findingsOf(ports)).toEqual([
    `problem: port ${port} of 127.0.0.1 ("wattline up") ${others}; end that program (ss -ltnp | grep :${port}), or choose another port`,
    `ok: port ${streamPort} of 127.0.0.1 ("wattline stream") is free`,
    `problem: port ${reportPort} of 127.0.0.1 ("wattline report") ${others}; end that program (ss -ltnp | grep :${reportPort}), or choose another port`,
  ]);
  // The process that runs needs no other port.
  expect(await findingsOf(ports, [port])).toEqual([
    `ok: port ${port} ("wattline up") is used by a process of this data folder`,
    `ok: port ${streamPort} of 127.0.0.1 ("wattline stream") is free`,
    `warning: port ${reportPort} of 127.0.0.1 ("wattline report") ${others}; choose another port before you start "wattline report"`,
  ]);
});

test('a port of two roles is looked at once, and an address of another machine is a problem', async () => {
  const port = await freePort();
  const ports = { port, streamPort: port, reportPort: port };
  expect(await findingsOf(ports)).toEqual([
    `ok: port ${port} of 127.0.0.1 ("wattline up" and "wattline stream" and "wattline report") is free`,
  ]);
  expect(await findingsOf({ ...ports, host: '192.0.2.1' })).toEqual([
    expect.stringMatching(
      /^problem: port \d+ of 192\.0\.2\.1 .*: this machine has no such address; correct http\.host/,
    ),
  ]);
});
