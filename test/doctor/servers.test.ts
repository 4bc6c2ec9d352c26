import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { connectAsync } from 'mqtt';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { checkAlerts } from '../../src/doctor/check-alerts.ts';
import { checkCertificates } from '../../src/doctor/check-certificates.ts';
import { checkExports } from '../../src/doctor/check-exports.ts';
import { checkInputs } from '../../src/doctor/check-inputs.ts';
import { checkMail } from '../../src/doctor/check-mail.ts';
import { runChecks } from '../../src/doctor/run-checks.ts';
import { DAY_MS, systemClock, type UtcMs } from '../../src/lib/time.ts';
import { startS3Server } from '../exports/s3-server.ts';
import { startWebhookServer } from '../exports/webhook-server.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { freePort } from '../support/free-port.ts';
import { startHomeAssistant } from '../support/home-assistant.ts';
import { brokerMissing, startBroker } from '../support/mosquitto.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';

const SECRET = 'only-for-tests';
const WRONG = 'no-such-secret';

/** The findings about the servers of a configuration, as lines. They never have a secret. */
async function look(input: ConfigInput, clock = systemClock): Promise<string[]> {
  const config = configSchema.parse(input);
  const findings = await runChecks([
    ...checkInputs(config, clock),
    ...checkMail(config, clock),
    ...checkAlerts(config),
    ...checkExports(config),
    ...checkCertificates(config, clock),
  ]);
  const lines = findings.map(({ check, state, found, next }) =>
    [`${state} ${check}: ${found}`, next].filter(Boolean).join('; '),
  );
  for (const line of lines) expect(line).not.toMatch(new RegExp(`${SECRET}|${WRONG}|hidden-key`));
  return lines;
}

const rules = [{ topic: 'meter/{device}/wh', table: 'grid', fields: { wh: 'payload' } }];

function withBrokers(...mqtt: object[]): ConfigInput {
  const inputs = { mqtt: mqtt.map((one, index) => ({ id: `b${index + 1}`, rules, ...one })) };
  return { workgroups: [{ id: 'home', inputs: inputs as never }] };
}

/** A certificate that ends in three days, made by itself. */
function shortCertificate(): { key: Buffer; cert: Buffer } {
  const folder = tempDir();
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, ...files, '-days', '3'], { stdio: 'ignore' });
  return { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) };
}

describe.skipIf(brokerMissing)('brokers', () => {
  test('are signed in to, and nothing is sent, kept or interrupted there', { tags: ['slow'] }, async () => {
    const broker = await startBroker({ wattline: SECRET });
    onTestFinished(broker.stop);
    const running = await connectAsync(broker.url, {
      clientId: 'wattline-home-b1',
      username: 'wattline',
      password: SECRET,
      reconnectPeriod: 0,
    });
    onTestFinished(() => running.endAsync(true));
    const seen: string[] = [];
    running.on('message', (topic) => void seen.push(topic));
    running.on('close', () => void seen.push('closed'));
    await running.subscribeAsync('#');
    const good = { url: broker.url, username: 'wattline', password: SECRET };
    const lines = await look(
      withBrokers(
        good,
        { ...good, version: '3.1.1' },
        { ...good, password: WRONG },
        { url: broker.url },
        { url: `mqtt://127.0.0.1:${await freePort()}` },
      ),
    );
    const host = `127.0.0.1:${broker.port}`;
    const name = (number: number, at = host) => `the broker ${at} of input "b${number}" of workgroup "home"`;
    expect(lines.slice(0, 4)).toEqual([
      `ok inputs: ${name(1)} answers and allows the topics`,
      `ok inputs: ${name(2)} answers and allows the topics`,
      `problem inputs: ${name(3)}: the broker refuses the user "wattline" or its password; correct username and password`,
      `problem inputs: ${name(4)}: the broker wants a user and a password; set username and password`,
    ]);
    expect(lines.slice(4)).toEqual([
      expect.stringMatching(/^problem inputs: .* "b5" .*ECONNREFUSED.*; check url, and whether/),
    ]);
    expect(seen).toEqual([]);
  });

  test('with TLS: their certificates, those of their clients, and who is not trusted', async () => {
    const broker = await startBroker(undefined, { tls: true });
    onTestFinished(broker.stop);
    const own = { ca: testCertificate, clientCertificate: testCertificate, clientKey: testCertificateKey };
    const url = broker.clientTlsUrl!;
    const config = withBrokers({ url, ...own }, { url }, { url, ca: testCertificate });
    const { host } = new URL(url);
    const name = (number: number) => `the broker ${host} of input "b${number}" of workgroup "home"`;
    const valid = `ok certificates: the certificate of ${host} is valid until 2126-10-30T05:59:20.000Z`;
    expect(await look(config)).toEqual([
      `ok inputs: ${name(1)} answers and allows the topics`,
      expect.stringMatching(/^problem inputs: .* "b2" .* is not trusted \(.*\); set ca to the authority/),
      expect.stringMatching(/^problem inputs: .* "b3" .* wants a certificate of its clients/),
      valid,
    ]);
    const endMs = Date.parse('2126-10-30T05:59:20.000Z') as UtcMs;
    const later = { ...systemClock, now: () => endMs - 3 * DAY_MS };
    expect((await look(config, later)).filter((line) => line.startsWith('warning'))).toEqual([
      'warning inputs: clientCertificate of input "b1" of workgroup "home" ends at 2126-10-30T05:59:20.000Z; ask the operator of the broker for a new one',
      'warning inputs: ca of input "b1" of workgroup "home" ends at 2126-10-30T05:59:20.000Z; write that of the new authority into it',
      'warning inputs: ca of input "b3" of workgroup "home" ends at 2126-10-30T05:59:20.000Z; write that of the new authority into it',
      `warning certificates: the certificate of ${host} ends at 2126-10-30T05:59:20.000Z; let its operator renew it`,
    ]);
  });
});

test('a mail server is signed in to, and no mail is sent', async () => {
  const { key, cert } = shortCertificate();
  const server = await startMailServer({
    key,
    cert,
    authOptional: false,
    onAuth: ({ password }, _session, done) =>
      password === SECRET ? done(null, { user: 'ada' }) : done(new Error('no')),
  });
  const mail = {
    host: '127.0.0.1',
    port: server.port,
    user: 'ada',
    password: SECRET,
    from: 'wattline@example.com',
    ca: String(cert),
  };
  const name = `the mail server 127.0.0.1:${server.port}`;
  expect(await look({ mail })).toEqual([
    expect.stringMatching(new RegExp(`^ok mail: ${name} answers, it accepts the login, its certificate is`)),
    expect.stringMatching(
      new RegExp(`^warning mail: the certificate of ${name} ends at .*; let its operator`),
    ),
  ]);
  expect(await look({ mail: { ...mail, password: WRONG } })).toEqual([
    `problem mail: ${name} refuses the login (535); check mail.user and mail.password; some providers ask for a password that is made for programs`,
  ]);
  expect(await look({ mail: { ...mail, ca: testCertificate } })).toEqual([
    expect.stringMatching(/^problem mail: the certificate of .* is not trusted/),
  ]);
  expect(await look({ mail: { ...mail, port: await freePort() } })).toEqual([
    expect.stringMatching(/^problem mail: .* does not answer; check mail\.host/),
  ]);
  expect(server.received).toEqual([]);
});

test('receivers of alerts are asked with requests that change nothing', async () => {
  const hook = await startWebhookServer();
  const headers = { 'X-Key': SECRET };
  const channels = [
    { id: 'ops', webhook: { url: hook.url, headers } },
    { id: 'phone', ntfy: { url: hook.url.replace('/hook?key=hidden-key', '/topic'), token: SECRET } },
  ];
  const { host } = new URL(hook.url);
  hook.answers.push(405, 200);
  const shows = (id: string) => `"wattline alerts test ${id}" shows whether it takes`;
  expect((await look({ alerts: { channels } })).map((line) => line.replace(/ \(HTTP \d+.*?\)/, ''))).toEqual([
    `ok alerts: ${host} answers for channel "ops"; ${shows('ops')} what is sent`,
    `ok alerts: ntfy at ${host} answers for channel "phone"; ${shows('phone')} messages`,
  ]);
  expect(hook.received.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
    'GET /topic/auth',
    'HEAD /hook?key=hidden-key',
  ]);
  const only = (index: number, status: number) => {
    hook.answers.push(status);
    return look({ alerts: { channels: [channels[index]!] } });
  };
  expect(await only(0, 302)).toEqual([expect.stringMatching(/^warning .*configure the final address/)]);
  expect(await only(0, 403)).toEqual([expect.stringMatching(/^warning .*check the configured headers/)]);
  expect(await only(0, 503)).toEqual([expect.stringMatching(/^warning .*log of the receiver/)]);
  expect(await only(1, 401)).toEqual([expect.stringMatching(/^problem .*correct ntfy\.token/)]);
  expect(await only(1, 403)).toEqual([expect.stringMatching(/^warning .*only write is enough/)]);
  expect(await only(1, 404)).toEqual([expect.stringMatching(/^warning .*not answer as ntfy does/)]);
  const away = `http://127.0.0.1:${await freePort()}`;
  expect(await look({ alerts: { channels: [{ id: 'x', webhook: { url: away } }] } })).toEqual([
    expect.stringMatching(
      /^problem alerts: channel "x": .*does not answer \(ECONNREFUSED\); check the address/,
    ),
  ]);
});

test('destinations of exports are asked, and nothing is delivered', async () => {
  const hook = await startWebhookServer();
  const house = await startHomeAssistant();
  const credentials = { accessKeyId: 'key', secretAccessKey: SECRET, region: 'us-east-1' };
  const s3 = await startS3Server(credentials);
  const folder = tempDir();
  const bucket = { ...credentials, endpoint: s3.url, bucket: 'energy' };
  const destinations = {
    nas: { folder: join(folder, 'new', 'reports') },
    hook: { webhook: { url: hook.url } },
    ha: { homeAssistant: { url: house.url, token: house.token } },
    s3: { s3: bucket },
    wrong: { s3: { ...bucket, secretAccessKey: WRONG } },
    stranger: { homeAssistant: { url: house.url, token: WRONG } },
  };
  const config = (chosen: object): ConfigInput => ({
    workgroups: [{ id: 'home' }],
    exports: Object.entries(chosen).map(([id, destination]) => ({
      ...{ id, destination, workgroup: 'home', range: 'yesterday', format: 'json' },
      report: 'daily_energy',
    })),
  });
  const lines = await look(config(destinations));
  expect(lines).toEqual([
    `ok exports: export nas: ${join(folder, 'new', 'reports')} can be made`,
    expect.stringMatching(/^ok exports: .* answers for export hook .*"wattline exports run hook" shows/),
    expect.stringMatching(/^ok exports: export ha: Home Assistant at .* accepts the token$/),
    expect.stringMatching(
      /^ok exports: export s3: s3:.* answers and knows the key; "wattline exports run s3"/,
    ),
    expect.stringMatching(/^problem exports: export wrong: .*the secretAccessKey is wrong/),
    expect.stringMatching(/^problem exports: export stranger: .*refuses the token; create a long-lived/),
  ]);
  expect([s3.objects.size, house.imported.size, hook.received.map(({ method }) => method)]).toEqual([
    0,
    0,
    ['HEAD'],
  ]);
  house.isAdministrator = false;
  s3.refuseWith(403, '<Error><Code>AccessDenied</Code></Error>');
  // One destination of several exports is asked once.
  const { ha, s3: writer } = destinations;
  expect(await look(config({ ha, again: ha, writer }))).toEqual([
    expect.stringMatching(/^problem exports: exports ha, again: .*not that of an administrator; create/),
    expect.stringMatching(/^warning exports: export writer: .*knows the key, which may not read; "wattline/),
  ]);
});

test('the certificate of every server that the configuration names is looked at once', async () => {
  const server = createTlsServer({ key: testCertificateKey, cert: testCertificate });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  /** The same server at another address of this machine. */
  const at = (place: number, protocol = 'https') => `${protocol}://127.0.0.${place}:${port}`;
  const s3 = (place: number) => ({
    ...{ endpoint: at(place), bucket: 'energy', accessKeyId: 'a', secretAccessKey: SECRET, region: 'r' },
  });
  const destinations = [{ webhook: { url: at(6) } }, { homeAssistant: { url: at(7), token: SECRET } }];
  const config = configSchema.parse({
    workgroups: [
      { id: 'home', inputs: { mqtt: [{ id: 'b', url: at(3, 'mqtts'), rules }] } },
      { id: 'one', upstream: { url: at(2) } },
      { id: 'other', upstream: { url: at(2) } },
    ],
    alerts: {
      channels: [
        { id: 'a', webhook: { url: at(4) } },
        { id: 'b', ntfy: { url: `${at(5)}/topic` } },
      ],
    },
    exports: [...destinations, { s3: s3(8) }].map((destination, index) => ({
      ...{ id: `e${index}`, destination, workgroup: 'home', range: 'yesterday', format: 'json' },
      report: 'daily_energy',
    })),
    storage: { s3: s3(9) },
    backup: { s3: s3(10) },
    stream: { log: 'redis', redisUrl: at(11, 'rediss') },
    queue: { backend: 'redis', redisUrl: at(12, 'rediss') },
  });
  const findings = await runChecks(checkCertificates(config, systemClock));
  const hosts = findings.map(({ found }) => /certificate of 127\.0\.0\.(\d+):\d+ is valid/.exec(found)?.[1]);
  expect(hosts.toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 11 }, (_, index) => String(index + 2)),
  );
  // Sentinels know where Redis is, and its own address has only the name of the master.
  const sentinels = { ...config.stream, redisSentinels: [{ host: 'a', port: 1 }] as never };
  const withSentinels = await runChecks(checkCertificates({ ...config, stream: sentinels }, systemClock));
  expect(withSentinels).toHaveLength(10);
});

test('a folder that cannot be written is a problem', async () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const to = { destination: { folder: join(file, 'reports') }, workgroup: 'home', range: 'yesterday' };
  expect(
    await look({
      workgroups: [{ id: 'home' }],
      exports: [{ id: 'nas', report: 'daily_energy', format: 'csv', ...to } as never],
    }),
  ).toEqual([expect.stringMatching(/^problem exports: .* cannot be written \(ENOTDIR\); let the user/)]);
});
