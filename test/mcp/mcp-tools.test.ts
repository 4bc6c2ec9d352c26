import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpServer } from '../../src/mcp/create-mcp-server.ts';

const days = { startDate: '2026-05-02', endDate: '2026-05-03' };
const tokenFor = (...workgroups: string[]) => {
  const scopes = Object.fromEntries(workgroups.map((id) => [id, { permissions: ['search:read'] }]));
  return `h.${Buffer.from(JSON.stringify({ scopes })).toString('base64url')}.s`;
};

/** The tools over reports that answer as the test says, and the requests for reports. */
async function openTools(
  answer: (path: string) => string | Response,
  options: { token?: string; workgroup?: string } = {},
) {
  const asked: string[] = [];
  const server = createMcpServer({
    url: 'http://reports.example',
    token: tokenFor('home'),
    backoff: { attemptsMax: 1 },
    async fetch(url) {
      const { pathname, search } = new URL(url);
      asked.push(pathname + search);
      const given = answer(pathname.replace(/^.*\/orgs\/[^/]*\//, ''));
      return given instanceof Response ? given : new Response(given);
    },
    ...options,
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  onTestFinished(() => client.close());
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    return { text: (content as Array<{ text: string }>)[0]!.text, isError: isError ?? false };
  };
  return { call, asked };
}

test('the workgroup is the named one, else the one of the server, else the only one of the token', async () => {
  const gaps = () => '{"gaps":[],"total":0}';
  const one = await openTools(gaps);
  await one.call('stream_gaps');
  await one.call('stream_gaps', { workgroup: 'roof' });
  expect(one.asked).toEqual(['/api/v1/orgs/home/gaps', '/api/v1/orgs/roof/gaps']);
  const set = await openTools(gaps, { workgroup: 'shop' });
  await set.call('stream_gaps');
  await set.call('stream_gaps', { workgroup: 'roof' });
  expect(set.asked).toEqual(['/api/v1/orgs/shop/gaps', '/api/v1/orgs/roof/gaps']);
  const several = await openTools(gaps, { token: tokenFor('roof', 'home') });
  expect(await several.call('stream_gaps')).toEqual({
    isError: true,
    text: 'name the workgroup; the token is for: home, roof',
  });
  expect(several.asked).toEqual([]);
});

test('a range has at least one day, and at most as many as the tool says', async () => {
  const { call } = await openTools(() => '');
  const textOf = async (name: string, endDate: string) =>
    (await call(name, { startDate: '2026-01-01', endDate })).text;
  expect(await textOf('daily_energy', '2025-12-31')).toBe('the range has 0 days; ask for 1 to 31');
  expect(await textOf('daily_energy', '2026-02-01')).toBe('the range has 32 days; ask for 1 to 31');
  expect(await textOf('data_quality', '2027-01-02')).toBe('the range has 367 days; ask for 1 to 366');
  const unlimited = await openTools((path) => (path === 'device-status' ? '{}' : ''));
  expect(await unlimited.call('daily_energy', { startDate: '2026-01-01', endDate: '2026-01-31' })).toEqual({
    isError: false,
    text: 'the energy of these days is unknown for every device',
  });
});

test('a device without energy is named, and its energy is unknown', async () => {
  const { call } = await openTools((path) =>
    path === 'device-status' ? '{"id-1":{"name":"garage"},"id-2":{}}' : '',
  );
  expect((await call('daily_energy', { ...days, endDate: days.startDate })).text).toBe(
    '2026-05-02 garage: the energy is unknown\n2026-05-02 id-2: the energy is unknown',
  );
});

test('a tool asks only for the devices and meters of the question', async () => {
  const { call, asked } = await openTools((path) =>
    path.endsWith('data') || path === 'device-status' ? '{}' : '',
  );
  await call('daily_energy', { ...days, devices: ['garage'] });
  await call('data_quality', { ...days, devices: ['garage'] });
  await call('budgets', { ...days, meterCodes: ['GRID-1'] });
  expect(asked.map((url) => url.replace(/^.*\/home\//, ''))).toEqual([
    'daily-energy?startDate=2026-05-02&endDate=2026-05-03&devices=garage&resolution=day',
    'device-status?devices=garage',
    'quality?startDate=2026-05-02&endDate=2026-05-03&devices=garage',
    'device-status?devices=garage',
    'budget-data?startDate=2026-05-02&endDate=2026-05-03&meterCodes=GRID-1',
    'meter-data?startDate=2026-05-02&endDate=2026-05-03&meterCodes=GRID-1',
  ]);
});

test('a delay of 0 is not unknown, and a busy service says so', async () => {
  const { call } = await openTools((path) =>
    path === 'status'
      ? JSON.stringify({ workgroup: 'home', lagSeconds: 0, findings: [] })
      : Response.json({ error: 'Busy', message: 'too busy', retryable: true }, { status: 503 }),
  );
  expect((await call('service_status')).text).toContain('Delay: 0 s; newest reading: unknown');
  expect(await call('stream_gaps')).toEqual({ isError: true, text: 'GET gaps of home: too busy' });
});

test('more rows or bytes than a tool reads are refused', async () => {
  const rows = await openTools(() => '{}\n'.repeat(20_001));
  expect((await rows.call('daily_energy', days)).text).toContain('there are more than 20000 rows');
  const wide = await openTools(() => `{"text":"${'x'.repeat(9 * 1024 * 1024)}"}`);
  expect((await wide.call('service_status')).text).toContain('larger than 8388608 bytes');
});

test('an error that is not ours has no details', async () => {
  const { call } = await openTools(() => '{"gaps":null}');
  expect(await call('stream_gaps')).toEqual({
    isError: true,
    text: 'this could not be answered; ask again in a moment',
  });
});

test('a gap says where it is, why, and what is still there', async () => {
  const gap = {
    id: 3,
    from: '5',
    to: null,
    reason: 'expired',
    available: 'nothing',
    note: 'the log was cut',
  };
  const { call } = await openTools(() => JSON.stringify({ gaps: [gap], total: 1 }));
  expect((await call('stream_gaps')).text).toBe(
    '1 gap is open\nGap 3: from 5 to unknown (expired); the upstream still has: nothing; the log was cut',
  );
});
