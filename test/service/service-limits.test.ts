import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';
import { inWords } from '../../src/lib/input-words.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS, systemClock } from '../../src/lib/time.ts';
import { assignmentOf } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { startRoles } from '../../src/service/start-roles.ts';
import { clientOf } from '../support/socket-client.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

/** The stream of a service with these limits, in this process. */
async function serve(limits: ConfigInput['limits'], stream: ConfigInput['stream'] = {}) {
  const config = configSchema.parse({
    dataDir: tempDir(),
    logLevel: 'silent',
    http: { port: 0 },
    stream,
    workgroups: [{ id: 'home' }],
    limits,
  });
  const running = await startRoles(config, ['stream'], { logger: silentLogger, clock: systemClock });
  onTestFinished(running.stop);
  const baseUrl = running.url!;
  const issue = async () => {
    const scopes = {
      home: { permissions: ['search:read' as const, 'data:write' as const, 'org:audit' as const] },
    };
    const token = { subject: 'test', scopes, lifetimeMs: 10 * MINUTE_MS };
    return (await running.access.issue(token, { unlisted: true })).token;
  };
  const connect = async (token: string) => {
    const { socket } = clientOf({ baseUrl }, { auth: { token, workgroupId: 'home' } });
    return new Promise<string>((resolve) => {
      socket.once('connect', () => resolve('connected'));
      socket.once('connect_error', (error) => resolve(error.message));
    });
  };
  const handshake = () => fetch(`${baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling`);
  const latest = async (headers: Record<string, string>) =>
    fetch(`${baseUrl}/api/v1/tables/home/solar/latest`, {
      headers: { authorization: `Bearer ${await issue()}`, ...headers },
    });
  return { config, baseUrl, issue, connect, handshake, latest, stop: running.stop };
}

test('limits.requestsPerMinute limits the requests of a token', async () => {
  const { baseUrl, issue } = await serve({ requestsPerMinute: 2 });
  const headers = { authorization: `Bearer ${await issue()}`, 'content-type': 'text/plain' };
  const statuses = [];
  for (let round = 0; round < 3; round++) {
    const answer = await fetch(`${baseUrl}/api/v1/tables/home/solar/messages`, { method: 'POST', headers });
    statuses.push(answer.status);
  }
  expect(statuses.map((status) => status === 429)).toEqual([false, false, true]);
});

test('limits.connectionsPerToken and connectionsPerWorkgroup limit connections', async () => {
  const { connect, issue } = await serve({ connectionsPerToken: 1, connectionsPerWorkgroup: 2 });
  const [first, second, third] = [await issue(), await issue(), await issue()];
  expect(await connect(first!)).toBe('connected');
  expect(await connect(first!)).toMatch(/this token has 1 connections/);
  expect(await connect(second!)).toBe('connected');
  expect(await connect(third!)).toMatch(/this workgroup has 2 connections/);
});

test('limits.connectionsPerAddress limits connections that are not authenticated', async () => {
  const { handshake } = await serve({ connectionsPerAddress: 2 });
  const statuses = [await handshake(), await handshake(), await handshake()].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 403]);
});

test('limits.connectionsPerProcess limits all connections', async () => {
  const { connect, handshake, issue } = await serve({ connectionsPerProcess: 1 });
  expect(await connect(await issue())).toBe('connected');
  expect((await handshake()).status).toBe(403);
});

test('limits.authenticationTimeout closes a connection that is not authenticated', {
  tags: ['slow'],
}, async () => {
  const connectTo = async (authenticationTimeout: string) => {
    const { baseUrl, handshake } = await serve({ authenticationTimeout });
    const text = await (await handshake()).text();
    const { sid } = JSON.parse(text.slice(1)) as { sid: string };
    const address = `${baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling&sid=${sid}`;
    return { isOpen: async () => (await fetch(address, { method: 'POST', body: '3' })).status === 200 };
  };
  // Without the setting both are closed after the same time, so the first connection is closed first.
  const patient = await connectTo('1min');
  const brief = await connectTo('200ms');
  expect(await patient.isOpen()).toBe(true);
  await until('the connection is closed', async () => !(await brief.isOpen()));
  expect(await patient.isOpen()).toBe(true);
});

test('limits.readHold ends a read that waits for messages', async () => {
  const { latest } = await serve({ readHold: '150ms' });
  const answer = await latest({ prefer: 'wait=20' });
  expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, 'wait=0.15']);
});

test('limits.watchedDevicesPerWorkgroup limits the devices that are watched for silence', {
  tags: ['slow'],
}, async () => {
  const { baseUrl, config, issue, stop } = await serve(
    { watchedDevicesPerWorkgroup: 2 },
    { deviceTimeout: '5s' },
  );
  const items = ['1', '2', '3'].map((digit) => ({
    device: `7c9e6679-7425-40de-944b-e07fc1f90ae${digit}`,
    event_time: Date.now(),
    data: { power: 1 },
  }));
  const answer = await fetch(`${baseUrl}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await issue()}`, 'content-type': 'application/json' },
    body: JSON.stringify(items),
  });
  expect(answer.status).toBe(200);
  const path = join(config.dataDir, 'stream', 'home', 'presence.json');
  await until('the devices are announced', async () => {
    const read = await fetch(`${baseUrl}/api/v1/tables/home/-/latest?startOffset=0`, {
      headers: { authorization: `Bearer ${await issue()}`, prefer: 'wait=0' },
    });
    return Buffer.from(await read.arrayBuffer()).includes('online');
  });
  await stop();
  expect(existsSync(path)).toBe(true);
  expect(JSON.parse(readFileSync(path, 'utf8')).devices).toHaveLength(2);
});

test('limits.namesPerWorkgroup limits the names that a warehouse keeps', async () => {
  const config = configSchema.parse({ workgroups: [{ id: 'home' }], limits: { namesPerWorkgroup: 2 } });
  const assignment = assignmentOf({ ...config, dataDir: tempDir() }, config.workgroups[0]!);
  const open = await openAssignment(assignment, systemClock, silentLogger);
  onTestFinished(() => closeAssignment(open));
  const { names } = open.shard;
  names.idOf('one');
  names.idOf('two');
  expect(() => names.idOf('three')).toThrow(/has 2 names/);
});

test.each([
  [{ readHold: '30s' }, /must be from 100ms to 20s/],
  [{ connectionsPerToken: 0 }, /must be at least 1/],
  [{ connectionPerToken: 1 }, /is not a known setting; is it connectionsPerToken/],
])('%j is refused', (limits, problem) => {
  expect(configSchema.safeParse({ limits }, inWords).error?.message).toMatch(problem);
});
