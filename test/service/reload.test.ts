// @module-tag slow
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Access, createAccess } from '../../src/access/access.ts';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { clientOf, type TestClient } from '../support/socket-client.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess } from '../support/up-process.ts';

const deviceA = '00000000-0000-4000-8000-00000000000a';
const deviceB = '00000000-0000-4000-8000-00000000000b';
const stream = '{ table: solar, field: total_wh, method: total_energy, unit: Wh }';

async function setUp(files: Record<string, string>) {
  const cwd = tempDir();
  const folder = join(cwd, 'workgroups.d');
  mkdirSync(folder);
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.yaml`), text);
  const remove = (name: string) => rmSync(join(folder, `${name}.yaml`));
  for (const [name, text] of Object.entries(files)) write(name, text);
  const service = await createUpProcess(cwd, {
    dataDir: './data',
    // Data flow all the time, and each roll-up takes the processor for long.
    pipeline: { pollEvery: '200ms', rollupEvery: '2s', publishEvery: '2s' },
  });
  onTestFinished(service.kill);
  const { dataDir } = service.config;
  const access: Access = await createAccess({ dataDir, issuer: 'wattline', clock: systemClock });
  const tokenOf = async (workgroupId: string, deviceGroups?: string[]) => {
    const permissions = ['search:read' as const, 'data:write' as const];
    const scopes = { [workgroupId]: { permissions, ...(deviceGroups && { deviceGroups }) } };
    return (await access.issue({ subject: 'test', scopes, lifetimeMs: HOUR_MS }, { unlisted: true })).token;
  };
  const send = async (workgroupId: string, token: string, items: object[]) => {
    const answer = await fetch(`${service.url}/api/v1/tables/${workgroupId}/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(items),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const read = async (workgroupId: string, token: string, wait = 0) => {
    const answer = await fetch(`${service.url}/api/v1/tables/${workgroupId}/-/latest`.replace('-', 'solar'), {
      headers: { authorization: `Bearer ${token}`, prefer: `wait=${wait}` },
    });
    const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as { messages?: unknown[] };
    return { status: answer.status, body };
  };
  const energy = async (workgroupId: string, token: string) => {
    const day = new Date().toISOString().slice(0, 10);
    const query = `startDate=${day}&endDate=${day}&groupBy=source`;
    const answer = await fetch(`${service.url}/api/v1/orgs/${workgroupId}/daily-energy?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, text: await answer.text() };
  };
  const reload = () => runCommand(['reload'], { cwd });
  return { cwd, service, write, remove, tokenOf, send, read, energy, reload, dataDir };
}

const connected = (socket: TestClient['socket']) =>
  new Promise<void>((resolve) => socket.once('connect', () => resolve()));
const reading = (device: string, totalWh: number, atMs = Date.now()) => ({
  device,
  source: 'roof',
  event_time: atMs,
  data: { total_wh: totalWh },
});

test('workgroups are added, changed and removed while data flow in others, and their data stay', async () => {
  const home = (group: string[]) => `id: home\ndeviceGroups: { tenants: [${group.join(', ')}] }\n`;
  const t = await setUp({ home: home([deviceA]), plant: `id: plant\nenergyStreams: [${stream}]\n` });
  await t.service.start();
  const plantToken = await t.tokenOf('plant');
  const client = clientOf({ baseUrl: t.service.url }, { auth: { token: plantToken, workgroupId: 'plant' } });
  await connected(client.socket);
  const plantSocketLost: string[] = [];
  client.socket.on('disconnect', (reason) => plantSocketLost.push(reason));
  const plantReader = client.subscribe({ requestId: randomUUID() });
  await plantReader.answer;
  const refused: number[] = [];
  let sent = 0;
  let flows = true;
  const flowing = (async () => {
    while (flows) {
      const status = await t.send('plant', plantToken, [reading(deviceA, 1_000 + sent)]);
      if (status === 200) sent += 1;
      else refused.push(status);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();

  // An added workgroup works at once, up to the report.
  t.write('new', `id: new\nenergyStreams: [${stream}]\n`);
  const newToken = await t.tokenOf('new');
  expect(await t.send('new', newToken, [reading(deviceA, 1)])).toBe(403);
  const added = await t.reload();
  expect(added).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^process \d+ \(stream, worker, report\): added new\n$/),
  });
  const now = Date.now();
  expect(
    await t.send('new', newToken, [reading(deviceA, 100, now - 2_000), reading(deviceA, 130, now)]),
  ).toBe(200);
  await until('the new workgroup has energy', async () =>
    (await t.energy('new', newToken)).text.includes('30'),
  );

  // A device group applies to an open socket and to a held read.
  const tenants = await t.tokenOf('home', ['tenants']);
  const tenant = clientOf({ baseUrl: t.service.url }, { auth: { token: tenants, workgroupId: 'home' } });
  await connected(tenant.socket);
  const tenantReader = tenant.subscribe({ requestId: randomUUID() });
  await tenantReader.answer;
  const homeToken = await t.tokenOf('home');
  // Messages keep both reads waiting. The wait of the other workgroup begins first, and lasts for its time.
  const readsEnded: string[] = [];
  const readHeld = (id: string, token: string) => t.read(id, token, 20).finally(() => readsEnded.push(id));
  void readHeld('plant', plantToken).catch(() => undefined);
  const held = readHeld('home', tenants);
  const flowingToHome = (async () => {
    while (!readsEnded.includes('home')) {
      await t.send('home', homeToken, [reading(deviceA, 1)]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  t.write('home', home([deviceB]));
  expect((await t.reload()).stdout).toMatch(/: changed home\n$/);
  expect((await held).status).toBe(200);
  expect(readsEnded).toEqual(['home']);
  await flowingToHome;
  await until('the socket has the new group', async () => {
    await t.send('home', homeToken, [reading(deviceA, 1), reading(deviceB, 1)]);
    return tenantReader.messages.some((message) => 'device' in message && message.device === deviceB);
  });
  const seen = tenantReader.messages.length;
  await t.send('home', homeToken, [reading(deviceA, 2), reading(deviceB, 2)]);
  await tenantReader.until((messages) => messages.length > seen);
  const later = tenantReader.messages.slice(seen) as Array<{ device?: string }>;
  // Those that were sent while it waited may come now, too.
  expect(new Set(later.map(({ device }) => device))).toEqual(new Set([deviceB]));
  expect(tenant.socket.connected).toBe(true);

  // A removed workgroup is unknown, and its socket ends; when it comes back, its data are there.
  t.remove('home');
  const removedAt = t.reload();
  const ended = await tenantReader.stopped;
  expect(ended).toMatchObject({ error: { error: 'WorkgroupForbidden' } });
  expect((await removedAt).stdout).toMatch(/: removed home\n$/);
  expect((await t.read('home', homeToken)).status).toBe(403);
  expect(await t.send('home', homeToken, [reading(deviceA, 3)])).toBe(403);
  expect((await t.energy('home', homeToken)).status).toBe(403);
  expect(existsSync(warehouseFile(t.dataDir, 'home'))).toBe(true);
  t.write('home', home([deviceB]));
  expect((await t.reload()).stdout).toMatch(/: added home\n$/);
  const again = await t.read('home', homeToken);
  expect(again.body.messages!.length).toBeGreaterThan(2);

  flows = false;
  await flowing;
  await plantReader.until((messages) => messages.length >= sent);
  expect({ refused, plantSocketLost, received: plantReader.messages.length }).toEqual({
    refused: [],
    plantSocketLost: [],
    received: sent,
  });
  expect(t.service.errorText()).not.toMatch(/shard\.(closed|open-failed).*plant/);
  await t.service.stop();
});

test.runIf(isSoak)(
  'a configuration with problems changes nothing and is reported everywhere, and settings that need a restart are named',
  async () => {
    const t = await setUp({ home: 'id: home\n' });
    await t.service.start();
    const homeToken = await t.tokenOf('home');
    t.write('new', 'id: new\n');
    t.write('broken', 'id: broken\ntimezone: Mars\n');
    const refused = await t.reload();
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('workgroups.d/broken.yaml: timezone: is not a time zone');

    process.kill(t.service.processId!, 'SIGHUP');
    process.kill(t.service.processId!, 'SIGHUP');
    await until('the service reports the refusal', () =>
      t.service.errorText().includes('config.reload-refused'),
    );
    expect(t.service.errorText()).toContain('workgroups.d/broken.yaml: timezone');
    expect(await t.send('home', homeToken, [reading(deviceA, 1)])).toBe(200);
    const newToken = await t.tokenOf('new');
    expect(await t.send('new', newToken, [reading(deviceA, 1)])).toBe(403);
    t.remove('broken');
    const status = await runCommand(['status'], { cwd: t.cwd });
    expect(status.stdout + status.stderr).toMatch(/the last reload, at .*, was refused/);

    process.kill(t.service.processId!, 'SIGHUP');
    process.kill(t.service.processId!, 'SIGHUP');
    await until(
      'the new workgroup is there',
      async () => (await t.send('new', newToken, [reading(deviceA, 1)])) === 200,
    );
    const again = await runCommand(['status'], { cwd: t.cwd });
    expect(again.stdout + again.stderr).not.toMatch(/last reload/);

    const restart = await runCli(['reload', '--json'], {
      cwd: t.cwd,
      environment: { WATTLINE_LOG_LEVEL: 'error' },
    });
    expect(JSON.parse(restart.stdout)).toMatchObject([
      { added: [], changed: [], removed: [], needRestart: [] },
    ]);
    const channel = "{ id: ops, ntfy: { url: 'http://127.0.0.1:9/topic' } }";
    writeFileSync(
      join(t.cwd, 'wattline.yaml'),
      `dataDir: ./data\npipeline: { pollEvery: 5s }\nalerts: { channels: [${channel}] }\n`,
    );
    const named = await t.reload();
    expect(named.code).toBe(0);
    expect(named.stdout).toMatch(/need[s]? a restart: .*pipeline\.pollEvery/);
    expect(named.stdout).toMatch(/: changed the alerts\n/);
    expect(named.stdout).not.toContain('alerts.');
    await t.service.stop();
    expect(await t.reload()).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no service runs on'),
    });
  },
);
