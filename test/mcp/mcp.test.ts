// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { GARAGE, homeWorkgroup, openService, ROOF, readings } from '../operate/operate-fixture.ts';
import { cliFile, nodeOptions, processEnvironment } from '../support/process-environment.ts';
import { runCommand } from '../support/run-command.ts';
import { shared } from '../support/shared.ts';

const PORTAL = 'https://portal.example';
const days = { startDate: '2026-05-02', endDate: '2026-05-03' };

async function openEnergy() {
  const at = await openService({ workgroups: [homeWorkgroup], http: { corsOrigins: [PORTAL] } });
  await at.send([
    ...readings(GARAGE, ['2026-05-01T22:00:00Z', 1_000], ['2026-05-02T22:00:00Z', 2_500]),
    ...readings(ROOF, ['2026-05-01T22:00:00Z', 0], ['2026-05-02T22:00:00Z', 700]),
  ]);
  await at.untilAnswer<Record<string, object>>(
    'daily-energy?startDate=2026-05-02&endDate=2026-05-02',
    (answer) => Object.keys(answer['2026-05-02']!).length === 2,
  );
  const mcpUrl = new URL(`${at.service.url}/mcp`);
  return { ...at, mcpUrl };
}

const energy = shared(openEnergy);

async function connect(transport: StdioClientTransport | StreamableHTTPClientTransport) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    const [first] = content as Array<{ type: string; text: string }>;
    return { text: first!.text, isError: isError ?? false };
  };
  return { client, call };
}

const overHttp = (url: URL, token: string) =>
  connect(
    new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    }),
  );

test('the tools answer the same over HTTP and over standard input, in words with units', async () => {
  const at = energy();
  const token = await at.issue({ permissions: ['search:read'] });
  const tokenFile = join(at.cwd, 'assistant.token');
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const ways = [
    await overHttp(at.mcpUrl, token),
    await connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [...nodeOptions, cliFile, 'mcp', '--url', at.service.url, '--token-file', tokenFile],
        env: processEnvironment() as Record<string, string>,
      }),
    ),
  ];
  const answers = [];
  for (const { client, call } of ways) {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'describe_workgroup',
      'daily_energy',
      'explain_day',
      'data_quality',
      'budgets',
      'service_status',
      'stream_gaps',
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    const energy = await call('daily_energy', days);
    const lines = energy.text.split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^2026-05-02 \S+: (1\.5 kWh|700 Wh) \(final, \d+ % of the time is measured/);
    // The day without readings is unknown for both devices, and nothing is 0.
    expect(lines.slice(2)).toEqual([
      expect.stringMatching(/^2026-05-03 .*: the energy is unknown$/),
      expect.stringMatching(/^2026-05-03 .*: the energy is unknown$/),
    ]);
    const month = await call('daily_energy', { ...days, resolution: 'month' });
    expect(month.text).toMatch(/2026-05 .*: 1\.5 kWh on the 1 day whose energy is known/);
    const explained = await call('explain_day', { device: GARAGE, day: '2026-05-02' });
    expect(explained.text).toMatch(/Source default: 1\.5 kWh, from the field \w+ of the table solar/);
    expect((await call('data_quality', days)).text).toMatch(
      /: the energy of 1 of 2 days is known; on the worst/,
    );
    // There is nothing to do, so the workgroup soon hibernates.
    expect((await call('service_status')).text).toMatch(
      /^Workgroup home: (running|hibernated), health \w+: /,
    );
    expect((await call('stream_gaps')).text).toBe('no gap is open');
    expect((await call('describe_workgroup')).text).toMatch(/^Workgroup home, time zone Europe\/Paris/);
    expect((await call('budgets', days)).isError).toBe(false);
    expect(await call('explain_day', { device: 'nobody', day: '2026-05-02' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('nobody'),
    });
    expect(await call('daily_energy', { startDate: '2026-01-01', endDate: '2026-12-31' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('ask for 1 to 31'),
    });
    expect((await call('daily_energy', { ...days, strange: 1 })).isError).toBe(true);
    expect(await call('service_status', { workgroup: 'other' })).toMatchObject({ isError: true });
    answers.push([energy, month, explained]);
  }
  expect(answers[1]).toEqual(answers[0]);
});

test('a token of device groups sees its devices only, and a revoked token ends', async () => {
  const at = energy();
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  const { call } = await overHttp(at.mcpUrl, token);
  const { text } = await call('daily_energy', days);
  expect(text.split('\n')).toHaveLength(2);
  expect((await call('describe_workgroup')).text).not.toContain(ROOF);
  expect((await call('service_status')).isError).toBe(true);
  expect((await call('daily_energy', { ...days, devices: [ROOF] })).isError).toBe(true);
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string };
  expect((await runCommand(['token', 'revoke', jti], { cwd: at.cwd })).code).toBe(0);
  await expect(call('daily_energy', days)).rejects.toThrow('the token is not valid');
});

test('a request without a token, of a foreign page, of another method or with a large body is refused', async () => {
  const at = energy();
  const post = async (body: string, headers: Record<string, string>) => {
    const response = await fetch(at.mcpUrl, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    });
    await response.text();
    if (response.ok) expect(response.headers.get('cache-control')).toBe('no-store');
    return response.status;
  };
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const authorized = { Authorization: `Bearer ${at.service.token}` };
  expect(await post(list, authorized)).toBe(200);
  expect(await post(list, {})).toBe(401);
  // A large body of a caller without a token is not read.
  expect(await post('x'.repeat(70_000), {})).toBe(401);
  expect(await post('x'.repeat(70_000), authorized)).toBe(413);
  expect(await post(`[${list},${list}]`, authorized)).toBe(400);
  expect(await post(list, { ...authorized, Origin: 'http://evil.example' })).toBe(403);
  expect(await post(list, { ...authorized, Origin: PORTAL })).toBe(200);
  expect((await fetch(at.mcpUrl, { headers: authorized })).status).toBe(405);
});
