import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const inverter = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const battery = '1f0c8d0e-3b52-4f0c-9d7e-2b9a4a1c6d11';

type Message = Record<string, unknown> & { data?: Record<string, unknown> };

async function read({ url }: ServiceProcess, table: string, token: string): Promise<Message[] | number> {
  const answer = await fetch(`${url}/api/v1/tables/home/${table}/latest`, {
    headers: { authorization: `Bearer ${token}`, prefer: 'wait=0' },
  });
  if (answer.status !== 200) return answer.status;
  return (decodeCbor(new Uint8Array(await answer.arrayBuffer())) as { messages: Message[] }).messages;
}

async function send({ url, token }: ServiceProcess, table: string, item: object): Promise<number> {
  const answer = await fetch(`${url}/api/v1/tables/home/${table}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify([{ event_time: Date.now(), ...item }]),
  });
  return answer.status;
}

test('presence of devices and the audit log can be read after the service was killed', async () => {
  const service = await createServiceProcess({
    stream: { deviceTimeout: '5s' },
    pipeline: { publishEvery: '1s' },
    workgroups: [{ id: 'home', devices: [{ id: inverter, name: 'garage' }] }],
  });
  const cwd = join(service.config.dataDir, '..');
  const cli = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args, { cwd });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  // Nothing runs yet.
  const create = async (...permissions: string[]) =>
    JSON.parse(
      await cli(
        'token',
        'create',
        'me',
        '-w',
        'home',
        '--json',
        ...permissions.flatMap((one) => ['-p', one]),
      ),
    ) as { token: string; tokenId: string };
  const [auditor, reader] = await Promise.all([create('search:read', 'org:audit'), create('search:read')]);

  await service.start();
  expect(await send(service, 'solar', { device: inverter, data: { power: 1 } })).toBe(200);
  expect(await send(service, 'devices', { device: battery, state: 'offline', reason: 'unplugged' })).toBe(
    200,
  );
  expect(await read(service, 'audit_logs', reader.token)).toBe(403);
  expect(await read(service, '-', reader.token)).toBe(403);
  expect(await read(service, 'solar', 'nonsense')).toBe(401);
  const isNoted = async (what: string) => {
    const entries = (await read(service, 'audit_logs', auditor.token)) as Message[];
    return entries.some(({ action }) => action === what);
  };
  await until('the refusals are in the log', () => isNoted('token.refused'));
  await service.kill();
  const settings = join(cwd, 'wattline.yaml');
  writeFileSync(
    settings,
    readFileSync(settings, 'utf8').replace('id: home', 'id: home\n    timezone: Europe/Paris'),
  );
  await service.start();
  await cli('token', 'revoke', reader.tokenId);

  const offline = async () => {
    const answer = await fetch(`${service.url}/api/v1/orgs/home/device-status?state=offline`, {
      headers: { authorization: `Bearer ${auditor.token}` },
    });
    return (await answer.json()) as object;
  };
  await until('both devices are offline', async () => Object.keys(await offline()).length === 2);
  expect(await offline()).toMatchObject({
    [battery]: { reason: 'unplugged', lastSeen: null },
    [inverter]: { name: 'garage', reason: 'timeout' },
  });
  const statuses = (await read(service, 'devices', service.token)) as Message[];
  expect(statuses.map(({ device, state, reason }) => `${device} ${state} ${reason}`).toSorted()).toEqual([
    `${battery} offline unplugged`,
    `${inverter} offline timeout`,
    `${inverter} online data received`,
  ]);
  const entries = (await read(service, 'audit_logs', auditor.token)) as Message[];
  const told = entries.map(({ action, target, data }) => [action, target, data?.reason ?? data?.name]);
  const own = (action: string) => told.filter(([name]) => name === action);
  expect(own('token.created').toSorted()).toEqual(
    [auditor, reader].map(({ tokenId }) => ['token.created', tokenId, 'me']).toSorted(),
  );
  expect(own('token.first_used').map(([, target]) => target)).toContain(auditor.tokenId);
  expect(own('token.refused')).toEqual(
    expect.arrayContaining([
      ['token.refused', reader.tokenId, 'insufficient_scope'],
      ['token.refused', undefined, 'invalid'],
    ]),
  );
  expect(own('token.revoked')).toEqual([['token.revoked', reader.tokenId, 'me']]);
  expect(entries.filter(({ action }) => action === 'configuration.changed').map(({ data }) => data)).toEqual([
    { 'workgroups.home.timezone': 'Etc/UTC -> Europe/Paris', entry: expect.any(String) },
  ]);
  const ids = entries.map(({ data }) => data!.entry);
  expect(new Set(ids).size).toBe(ids.length);
  const text = JSON.stringify(entries, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  for (const { token } of [auditor, reader, service]) expect(text).not.toContain(token.split('.')[2]);

  const revoked = () => queryLake(service.config, 'home', "FROM audit_log WHERE action = 'token.revoked'");
  await until('the audit log is published', async () => ((await revoked()) ?? []).length > 0);
  expect(await revoked()).toMatchObject([
    { target: reader.tokenId, actor: expect.stringMatching(/^local:/) },
  ]);
  const views = await queryLake(
    service.config,
    'home',
    `SELECT (SELECT count(*) FROM device_status) AS transitions,
       (SELECT string_agg(state, ' ' ORDER BY device) FROM device_state) AS states,
       (SELECT data->>'name' FROM audit_log WHERE action = 'token.created' LIMIT 1) AS name`,
  );
  expect(views).toEqual([{ transitions: 3n, states: 'offline offline', name: 'me' }]);
  const [table, devices, json] = await Promise.all([
    cli('status'),
    cli('status', '--devices'),
    cli('status', '--devices', 'offline', '--json'),
  ]);
  expect(table).toMatch(/Online +Offline/);
  expect(devices).toMatch(/garage +offline +2\d{3}-.* timeout/);
  expect(JSON.parse(json)).toMatchObject([
    { workgroupId: 'home', device: battery, state: 'offline', reason: 'unplugged', lastSeen: null },
    { workgroupId: 'home', device: inverter, name: 'garage', state: 'offline', reason: 'timeout' },
  ]);
  expect(await service.stop()).toBe(0);
});
