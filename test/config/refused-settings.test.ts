import { describe, expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { inWords } from '../../src/lib/input-words.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function problemsOf(settings: object): Record<string, string> {
  const parsed = configSchema.safeParse(settings, inWords);
  const problems = parsed.success ? [] : zodProblems(parsed.error);
  return Object.fromEntries(problems.map(({ path, message }) => [path, message]));
}

/** The problems of a part of the configuration, by their path in it. */
function problemsIn(within: string, settings: object): Record<string, string> {
  const entries = Object.entries(problemsOf(settings));
  for (const [path] of entries) expect(path.startsWith(within), path).toBe(true);
  return Object.fromEntries(entries.map(([path, message]) => [path.slice(within.length + 1), message]));
}

describe('an export', () => {
  const s3 = {
    endpoint: 'https://s3.example.com',
    bucket: 'energy',
    accessKeyId: 'K',
    secretAccessKey: 'S',
  };
  const daily = {
    id: 'daily',
    workgroup: 'home',
    report: 'daily_energy',
    range: 'yesterday',
    format: 'csv',
    destination: { folder: 'out' },
  };
  const workgroups = [
    {
      id: 'home',
      meters: [{ code: 'A' }],
      sites: [
        { name: 'roof', meters: [{ code: 'A' }] },
        { name: 'cellar', devices: [{ id: DEVICE }] },
      ],
      roles: [{ source: 'grid', role: 'grid_import' }],
    },
  ];
  const exportProblems = (settings: object) =>
    problemsIn('exports.0', { workgroups, exports: [{ ...daily, ...settings }] });

  test('goes to exactly one destination', () => {
    const message = 'must be one of folder, s3, webhook, email and homeAssistant';
    expect(exportProblems({ destination: {} })).toEqual({ destination: message });
    expect(exportProblems({ destination: { folder: 'out', s3 } })).toEqual({ destination: message });
    expect(exportProblems({ destination: { s3 } })).toEqual({});
  });

  test.each(['Host', 'content-type', 'Transfer-Encoding', 'Idempotency-Key', 'Wattline-Signature'])(
    'to a webhook has no header %s of its own',
    (name) => {
      const webhook = { url: 'https://example.com', headers: { [name]: 'x', 'X-Host': 'x' } };
      expect(exportProblems({ destination: { webhook } })).toEqual({
        [`destination.webhook.headers.${name}`]: 'is a header that Wattline sets itself',
      });
    },
  );

  test('to a webhook has headers of one line, and a secret of at least 8 characters', () => {
    const webhook = {
      url: 'https://example.com',
      headers: { a: 'x\r\nb: y', 'a b': 'x' },
      secret: '1234567',
    };
    expect(exportProblems({ destination: { webhook } })).toEqual({
      'destination.webhook.headers.a': 'must be one line of text',
      'destination.webhook.headers.a b': 'is not a name of a header',
      'destination.webhook.secret': 'must have at least 8 characters',
    });
    expect(
      exportProblems({ destination: { webhook: { ...webhook, headers: {}, secret: '12345678' } } }),
    ).toEqual({});
  });

  test('has a zone only beside a schedule', () => {
    const timezone = 'Europe/Paris';
    expect(exportProblems({ timezone })).toEqual({
      timezone: 'is the zone of the schedule, which is missing',
    });
    expect(exportProblems({ timezone, schedule: '0 6 * * *' })).toEqual({});
  });

  test('to Home Assistant has an address without a query', () => {
    const to = (url: string) => exportProblems({ destination: { homeAssistant: { url, token: 'T' } } });
    expect(to('http://ha.local:8123')).toEqual({});
    for (const url of ['http://ha.local?a=1', 'http://ha.local#a'])
      expect(Object.keys(to(url))).toEqual(['destination.homeAssistant.url']);
  });

  test('of a site needs members on each side that its report compares', () => {
    const of = (report: string, site: string) => exportProblems({ report, site }).site;
    expect(of('reconciliation', 'roof')).toMatch(/"roof" has no devices, so there is nothing to compare/);
    expect(of('reconciliation', 'cellar')).toMatch(/"cellar" has no meters, so/);
    expect([of('variance', 'roof'), of('balance', 'cellar')]).toEqual([undefined, undefined]);
    expect(of('variance', 'cellar')).toMatch(/has no meters, so there is nothing to compare/);
    expect(of('balance', 'roof')).toMatch(/has no devices, so there is nothing to balance/);
  });

  test('names at least one device, meter or scenario, or has no such setting', () => {
    expect(exportProblems({ devices: [] })).toEqual({ devices: 'must name a device, or be left out' });
    const budget = { report: 'budget_data', meters: ['A'], scenario: 'P50' };
    expect(exportProblems(budget)).toEqual({});
    expect(exportProblems({ ...budget, meters: [], scenario: '' })).toEqual({
      meters: 'must name a meter, or be left out',
      scenario: 'must name a scenario, or be left out',
    });
  });

  test('has an id of its own', () => {
    expect(problemsOf({ workgroups, exports: [daily, { ...daily, format: 'json' }] })).toEqual({
      'exports.1.id': '"daily" is used twice',
    });
  });

  test('of an unknown workgroup names the first 20 that there are', () => {
    const many = Array.from({ length: 21 }, (_, index) => ({ id: `w${index}` }));
    const message = (count: number) => problemsOf({ workgroups: many.slice(0, count), exports: [daily] });
    expect(message(20)['exports.0.workgroup']).toMatch(/, w19$/);
    expect(message(21)['exports.0.workgroup']).toMatch(/, w19 and 1 more$/);
  });
});

describe('the mail server', () => {
  const mailProblems = (settings: object) =>
    problemsIn('mail', { mail: { host: 'mail.example.com', from: 'w@example.com', ...settings } });

  test('has a user and a password, or neither', () => {
    const message = 'is needed too; user and password belong together';
    expect(mailProblems({ user: 'u' })).toEqual({ password: message });
    expect(mailProblems({ password: 'p' })).toEqual({ user: message });
    expect(mailProblems({ user: 'u', password: 'p' })).toEqual({});
  });

  test('has no port 0', () => {
    expect(mailProblems({ port: 0 })).toEqual({ port: 'must be a port from 1 to 65535' });
    expect(mailProblems({ port: 1 })).toEqual({});
  });

  test('sends one mail to at most 50 addresses, each without a name', () => {
    const destination = (count: number) => ({
      ntfy: undefined,
      email: { to: Array.from({ length: count }, (_, index) => `a${index}@example.com`) },
    });
    const problems = (count: number) =>
      problemsOf({
        mail: { host: 'localhost', from: 'w@example.com' },
        alerts: { channels: [{ id: 'ops', ...destination(count) }] },
      });
    expect(problems(50)).toEqual({});
    expect(problems(51)).toEqual({ 'alerts.channels.0.email.to': 'may have at most 50 addresses' });
    expect(problems(0)).toEqual({ 'alerts.channels.0.email.to': 'must name an address' });
  });
});

describe('alerts', () => {
  const ntfy = { url: 'https://ntfy.sh/topic' };
  const channelProblems = (...channels: object[]) => problemsIn('alerts.channels', { alerts: { channels } });

  test('go by one way in each channel', () => {
    const message = 'must have one of webhook, ntfy, email';
    expect(channelProblems({ id: 'a' })).toEqual({ '0': message });
    expect(channelProblems({ id: 'a', ntfy, webhook: { url: 'https://example.com' } })).toEqual({
      '0': message,
    });
  });

  test('have channels with ids of their own, and at most 20', () => {
    const channels = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ id: `c${index}`, ntfy }));
    expect(channelProblems(...channels(20))).toEqual({});
    expect(Object.keys(problemsOf({ alerts: { channels: channels(21) } }))).toEqual(['alerts.channels']);
    expect(channelProblems({ id: 'a', ntfy }, { id: 'a', ntfy })).toEqual({ '1.id': '"a" is used twice' });
  });

  test('are checked every 1 s to 10 min, for conditions with limits of their range', () => {
    const alerts = (checkEvery: string, coverage: number, lasts: string) =>
      Object.keys(
        problemsIn('alerts', {
          alerts: { checkEvery, conditions: { coverage: { limit: coverage, for: lasts } } },
        }),
      );
    expect(alerts('1s', 1, '7d')).toEqual([]);
    expect(alerts('10m', 0.01, '0s')).toEqual([]);
    expect(alerts('999ms', 0, '169h')).toEqual([
      'checkEvery',
      'conditions.coverage.limit',
      'conditions.coverage.for',
    ]);
    expect(alerts('601s', 1.01, '1s')).toEqual(['checkEvery', 'conditions.coverage.limit']);
  });
});

describe('an input of MQTT', () => {
  const rules = [{ topic: 'plant/{device}', table: 'solar', fields: { total: '/total' } }];
  const inputProblems = (settings: object) =>
    problemsIn('workgroups.0.inputs.mqtt.0', {
      workgroups: [{ id: 'home', inputs: { mqtt: [{ id: 'a', url: 'mqtt://h', rules, ...settings }] } }],
    });

  test('has a certificate and its key together, and a user beside a password', () => {
    expect(inputProblems({ clientCertificate: 'PEM' })).toEqual({
      clientKey: 'and clientCertificate are needed together',
    });
    expect(Object.keys(inputProblems({ clientKey: 'PEM' }))).toEqual(['clientKey']);
    expect(inputProblems({ password: 'p' })).toEqual({ username: 'is needed with a password' });
    expect(inputProblems({ username: 'u', clientKey: 'PEM', clientCertificate: 'PEM' })).toEqual({});
  });

  test.each(['a/+', 'a/#', ''])('sends no request to the topic "%s"', (topic) => {
    expect(inputProblems({ request: { topic } })).toEqual({
      'request.topic': 'must be a topic without wildcards',
    });
  });

  test('has values with a factor that is not 0, at a JSON pointer', () => {
    const at = (total: unknown) => inputProblems({ rules: [{ ...rules[0], fields: { total } }] });
    expect(at({ from: 'payload', scale: -0.1 })).toEqual({});
    expect(at({ from: '/total', scale: 0 })).toEqual({ 'rules.0.fields.total.scale': 'must not be 0' });
    expect(Object.keys(at('total'))).toEqual(['rules.0.fields.total']);
  });

  test('asks for messages every 1 s to 1 day', () => {
    const every = (text: string) => inputProblems({ request: { topic: 'a', every: text } });
    expect([every('1s'), every('1d')]).toEqual([{}, {}]);
    for (const beyond of ['999ms', '25h']) expect(Object.keys(every(beyond))).toEqual(['request.every']);
  });

  test('has placeholders of the levels of its topic only', () => {
    const rule = { ...rules[0], source: '{phase}' };
    expect(inputProblems({ rules: [rule] })).toEqual({
      'rules.0.source': expect.stringContaining('{phase} is not a level of the topic'),
    });
    expect(inputProblems({ rules: [{ ...rule, topic: 'plant/{device}/{phase}' }] })).toEqual({});
  });

  test('speaks version 5 or 3.1.1', () => {
    expect([inputProblems({ version: 5 }), inputProblems({ version: '3.1.1' })]).toEqual([{}, {}]);
    expect(inputProblems({ version: 4 })).toEqual({ version: 'must be 5 or "3.1.1"' });
  });
});

test('the state is committed to a bucket at least four times within the retention of the stream', () => {
  const problems = (commitEvery: string) =>
    problemsOf({
      stream: { retention: '1h' },
      storage: { commitEvery, s3: { bucket: 'energy', accessKeyId: 'K', secretAccessKey: 'S' } },
    });
  expect(problems('15m')).toEqual({});
  expect(problems('901s')).toEqual({
    'storage.commitEvery': expect.stringMatching(/a quarter of stream.retention \(1h\).*; write 15m or less/),
  });
});

test('a rule of lines has placeholders of tags only', () => {
  const lines = [{ table: '{/a}', device: '{/b}', source: '{/c}' }];
  const message = 'a line has tags and no JSON';
  expect(
    problemsIn('workgroups.0.inputs.lines.0', { workgroups: [{ id: 'home', inputs: { lines } }] }),
  ).toEqual({
    table: message,
    device: message,
    source: message,
  });
});

test('the address of an upstream is one of http or https, and it is read by rest or socket', () => {
  const upstream = (settings: object) =>
    problemsIn('workgroups.0.upstream', {
      workgroups: [{ id: 'home', upstream: { url: 'http://h', ...settings } }],
    });
  expect(upstream({ transport: 'socket' })).toEqual({});
  expect(upstream({ url: 'ws://h', transport: 'websocket' })).toEqual({
    url: 'must be an http:// or https:// address',
    transport: 'must be "rest" or "socket"',
  });
});

test.each([
  ['https://grafana.example.com', true],
  ['http://localhost:3000', true],
  ['https://grafana.example.com/', false],
  ['https://grafana.example.com:443', false],
  ['ftp://grafana.example.com', false],
  ['*', false],
])('the origin %s of web pages is allowed: %s', (origin, isAllowed) => {
  expect(Object.keys(problemsOf({ http: { corsOrigins: [origin] } }))).toEqual(
    isAllowed ? [] : ['http.corsOrigins.0'],
  );
});

test.each([
  ['/socket.io', true],
  ['/my/socket.io', true],
  ['/api/socket', false],
  ['/metrics', false],
  ['/health', false],
  ['socket.io', false],
  ['/socket.io/', false],
])('socket.io can be at the path %s: %s', (socketPath, isPossible) => {
  expect(Object.keys(problemsOf({ stream: { socketPath } }))).toEqual(
    isPossible ? [] : ['stream.socketPath'],
  );
});

test.each([
  ['e', false],
  ['en', false],
  ['pv1', true],
  ['energy.exports-2', true],
  ['-energy', false],
  ['e'.repeat(63), true],
  ['e'.repeat(64), false],
])('a bucket can be named %s: %s', (bucket, isPossible) => {
  const s3 = { bucket, accessKeyId: 'K', secretAccessKey: 'S' };
  expect(Object.keys(problemsOf({ backup: { s3 } }))).toEqual(isPossible ? [] : ['backup.s3.bucket']);
});
