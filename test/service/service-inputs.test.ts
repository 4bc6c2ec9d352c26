// @module-tag slow
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { type Config, type ConfigInput, configSchema } from '../../src/config/config.ts';
import type { ReadBody } from '../../src/contract/messages.ts';
import type { InputState } from '../../src/inputs/input-counter.ts';
import { DAY_MS, HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { inputTroubles } from '../../src/operate/input-troubles.ts';
import { type AckGate, startAckGate } from '../support/ack-gate.ts';
import { createFakeTime, fakeTimeLibrary } from '../support/fake-time.ts';
import { freePort } from '../support/free-port.ts';
import { brokerMissing, startBroker, type TestBroker } from '../support/mosquitto.ts';
import { parseScrape } from '../support/parse-scrape.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess, type ServiceProcess } from '../support/up-process.ts';

/** All tests share one service. Each has its own devices, so that it can run alone. */
const READABLE = '7c9e6679-7425-40de-944b-e07fc1f90ae1';
const COUNTED = '7c9e6679-7425-40de-944b-e07fc1f90ae2';
const MEASURED = '7c9e6679-7425-40de-944b-e07fc1f90ae3';
const PASSWORD = 'only-for-tests';
const WRONG_PASSWORD = 'no-such-password';
const cwd = mkdtempSync(join(tmpdir(), 'wattline-test-'));
let broker: TestBroker;
let gate: AckGate;
let service: ServiceProcess;

beforeAll(async () => {
  if (brokerMissing !== undefined) return;
  broker = await startBroker({ wattline: PASSWORD });
  gate = await startAckGate(broker.port);
  const url = `mqtt://127.0.0.1:${gate.port}`;
  const mqtt = { username: 'wattline', password: PASSWORD, url };
  const rules = [
    {
      topic: 'meter/{device}/wh',
      table: 'grid',
      fields: { wh: '/wh' },
      time: { from: '/t', format: 'milliseconds' as const },
    },
  ];
  const home = {
    id: 'home',
    timezone: 'Etc/UTC',
    energyStreams: [
      { table: 'grid', field: 'wh', method: 'total_energy' as const, unit: 'Wh', maxPower: '1 GW' },
    ],
    inputs: {
      mqtt: [
        { id: 'house', ...mqtt, rules },
        { id: 'wrong', ...mqtt, url: broker.url, password: WRONG_PASSWORD, rules },
      ],
    },
  } satisfies NonNullable<ConfigInput['workgroups']>[number];
  service = await createUpProcess(cwd, { metrics: { port: await freePort() }, workgroups: [home] });
  await service.start();
});

afterAll(async () => {
  await service?.stop();
  gate?.close();
  await broker?.stop();
  rmSync(cwd, { recursive: true, force: true });
});

async function states(): Promise<InputState[]> {
  const { stdout } = await runCommand(['inputs', '--json'], { cwd });
  return JSON.parse(stdout) as InputState[];
}
const house = async () => (await states()).find(({ input }) => input === 'house')!;
const connected = () =>
  until('the input is connected', async () => (await house())?.connection === 'connected');

const REFUSED_USER = 'the broker refuses the user "wattline" or its password; correct username and password';
const otherIsRefused = () =>
  until('the problem shows', async () => (await states()).some(({ problem }) => problem === REFUSED_USER));

/** What can be read of a device. */
async function readings(device: string): Promise<unknown[]> {
  const answer = await fetch(`${service.url}/api/v1/tables/home/grid/latest`, {
    headers: { authorization: `Bearer ${service.token}`, prefer: 'wait=0' },
  });
  const body = decodeCbor(new Uint8Array(await answer.arrayBuffer())) as unknown as ReadBody;
  return body.messages.flatMap((message) =>
    message.kind === 'telemetry' && message.device === device ? [message.data] : [],
  );
}

describe.skipIf(brokerMissing)('MQTT with a running service', () => {
  test('a message is acknowledged after it can be read, and comes again after a kill, and is there once', async () => {
    await connected();
    const topic = `meter/${READABLE}/wh`;
    const atMs = Date.now() - HOUR_MS;
    /** What could be read when each acknowledgement was sent. */
    const readable: unknown[][] = [];
    gate.onAck = async () => {
      readable.push(await readings(READABLE));
      return 'lose' as const;
    };
    onTestFinished(async () => {
      gate.onAck = () => 'pass';
      if (service.processId === undefined) await service.start();
    });
    await broker.publish([[topic, `{"wh":1000,"t":${atMs}}`]]);
    await until('the message is acknowledged', () => readable.length > 0);
    expect(readable[0]).toEqual([{ wh: 1_000 }]);

    await service.kill();
    gate.onAck = () => 'pass';
    // It waits at the broker while the service is away.
    await broker.publish([[topic, `{"wh":2200,"t":${atMs + 600_000}}`]]);
    await service.start();
    await until('both were delivered', async () => (await house())?.received >= 2);
    await until('the new one is stored', async () => (await house()).stored === 1);
    expect(await house()).toMatchObject({ repeated: 1, refused: 0 });
    expect(await readings(READABLE)).toEqual([{ wh: 1_000 }, { wh: 2_200 }]);
  });

  test('the energy of messages is in the report', async () => {
    await connected();
    const nowMs = Date.now();
    await broker.publish([
      [`meter/${COUNTED}/wh`, `{"wh":1000,"t":${nowMs - HOUR_MS}}`],
      [`meter/${COUNTED}/wh`, `{"wh":2200,"t":${nowMs}}`],
    ]);
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const range = `startDate=${day(nowMs - DAY_MS)}&endDate=${day(nowMs)}`;
    const address = `${service.url}/api/v1/orgs/home/daily-energy?${range}`;
    await until('1,200 Wh are published', async () => {
      const answer = await fetch(address, { headers: { authorization: `Bearer ${service.token}` } });
      const days = Object.values((await answer.json()) as Record<string, Record<string, number>>);
      return days.reduce((sum, devices) => sum + (devices[COUNTED] ?? 0), 0) === 1_200;
    });
  });

  test('a bad payload is in the quarantine with its topic', async () => {
    await connected();
    const { refused } = await house();
    await broker.publish([['meter/bad/wh', 'not JSON']]);
    const found = async () => {
      const answer = await fetch(`${service.url}/api/v1/orgs/home/quarantine`, {
        headers: { authorization: `Bearer ${service.token}` },
      });
      const { groups = [] } = (await answer.json()) as {
        groups?: Array<{ reason: string; samples: Array<{ detail: string }> }>;
      };
      return groups
        .flatMap(({ reason, samples }) => samples.map(({ detail }) => [reason, detail]))
        .filter(([, detail]) => detail!.startsWith('meter/bad/wh'));
    };
    await until('it is there', async () => (await found()).length > 0);
    expect(await found()).toEqual([
      ['input_refused', 'meter/bad/wh: the payload is not JSON, and the rule reads a part of it'],
    ]);
    expect(await house()).toMatchObject({ refused: refused + 1, lastRefused: { about: 'meter/bad/wh' } });
  });

  test('each input has metrics', async () => {
    await connected();
    const before = await house();
    await broker.publish([
      [`meter/${MEASURED}/wh`, `{"wh":5,"t":${Date.now()}}`],
      [`meter/${MEASURED}/wh`, `{"wh":6,"t":${Date.now()}}`],
      [`meter/${MEASURED}/wh`, 'not JSON'],
    ]);
    await until('all are counted', async () => {
      const { stored, refused } = await house();
      return stored >= before.stored + 2 && refused > before.refused;
    });
    const answer = await fetch(`http://127.0.0.1:${service.config.metrics.port}/metrics`);
    const { value } = parseScrape(await answer.text());
    const of = (input: string) =>
      ['up', 'disconnects_total', 'messages_total', 'stored_total', 'rejected_total'].map((name) =>
        value(`wattline_input_${name}`, { workgroup: 'home', input }),
      );
    const { received, stored, refused } = before;
    expect([of('house'), of('wrong')]).toEqual([
      [1, 0, received + 3, stored + 2, refused + 1],
      [0, 0, 0, 0, 0],
    ]);
    const last = (input: string) => value('wattline_input_last_message_timestamp_seconds', { input });
    expect([Math.abs(Date.now() / 1_000 - last('house')!) < 600, last('wrong')]).toEqual([true, undefined]);
  });

  test('a wrong password is said clearly, never shown, and harms no other input', async () => {
    await connected();
    await otherIsRefused();
    const inputs = await runCommand(['inputs'], { cwd });
    const failing =
      /workgroup home, receiving messages \(inputs\): input "wrong" \(mqtt:.*\) is not connected since .*: the broker refuses .*; "wattline doctor" looks/;
    expect([inputs.code, inputs.stdout, inputs.stderr]).toEqual([
      4,
      expect.stringMatching(new RegExp(`^failing: ${failing.source}`, 'm')),
      expect.stringMatching(failing),
    ]);
    const status = await runCommand(['status'], { cwd });
    expect(status.stderr).toContain(REFUSED_USER);
    expect(await house()).toMatchObject({ connection: 'connected' });
    expect(await house()).not.toHaveProperty('problem');
    const texts = [
      inputs.stdout,
      status.stderr,
      status.stdout,
      service.errorText(),
      (await runCommand(['config', 'check'], { cwd })).stdout,
    ];
    for (const text of texts) expect(text).not.toContain(PASSWORD);
    expect(texts.join()).not.toContain(WRONG_PASSWORD);
  });

  test('a refused input makes the status fail after half a minute, and leaves the machine in service', async () => {
    await otherIsRefused();
    const file = join(cwd, 'wattline.yaml');
    const configured = readFileSync(file, 'utf8');
    const { workgroups } = configSchema.parse(parseYaml(configured));
    const config = { dataDir: service.config.dataDir, stream: { log: 'lmdb' } } as Config;
    const later = { ...systemClock, now: () => Date.now() + 31_000 };
    const found = (chosen = workgroups) => inputTroubles(config, chosen, later);
    const wrong = {
      workgroupId: 'home',
      stage: 'input',
      state: 'disconnected',
      message: expect.stringMatching(
        /^input "wrong" .* is not connected since .*: the broker refuses the user/,
      ),
    };
    expect(await found()).toMatchObject([wrong]);
    const [home] = workgroups;
    const added = { ...home!.inputs!.mqtt[0]!, id: 'added' };
    const mqtt = [...home!.inputs!.mqtt, added];
    expect(await found([{ ...home!, inputs: { ...home!.inputs!, mqtt } }])).toMatchObject([
      wrong,
      {
        message: expect.stringMatching(
          /^input "added" .* the running service does not have it; run "wattline reload"$/,
        ),
      },
    ]);
    const ready = await fetch(`${service.url}/ready`);
    const { checks } = (await ready.json()) as { checks: Record<string, unknown> };
    expect([ready.status, checks.inputs]).toMatchObject([200, { ok: true, detail: { inputs: 2 } }]);
  });

  test.skipIf(fakeTimeLibrary === undefined)('the exit code of the status is then 4', async () => {
    await otherIsRefused();
    const time = createFakeTime(tempDir());
    time.set(40);
    const { code, stdout, stderr } = await runCli(['status'], { cwd, environment: time.environment });
    const line =
      /^failing: workgroup home, receiving messages \(inputs\): input "wrong" .* is not connected/m;
    expect([code, stdout]).toEqual([4, expect.stringMatching(line)]);
    expect(stderr).toContain('workgroup home, receiving messages (inputs): input "wrong"');
    expect(stdout + stderr).not.toContain(WRONG_PASSWORD);
  });

  test('wattline inputs try shows how a message is read, or why it is not', async () => {
    const trying = (payload: string) =>
      runCommand(['inputs', 'try', '--topic', 'meter/main/wh', '--payload', payload], { cwd });
    const read = await trying('{"wh":5,"t":1795000000000}');
    expect([read.code, read.stdout.split('\n').slice(0, 7)]).toMatchObject([
      0,
      [
        'house: a reading',
        '  table     grid',
        '  device    84da8d86-44ee-563f-a5ee-0b0aedf75eac',
        '  source    -',
        '  time      2026-11-18T11:06:40.000Z',
        '  field wh  5',
        'wrong: a reading',
      ],
    ]);
    const refused = await trying('5 kWh');
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain(
      'house: refused: the payload is not JSON, and the rule reads a part of it',
    );
    const other = await runCommand(
      ['inputs', 'try', '--topic', 'x', '--payload', '1', '--workgroup', 'home'],
      { cwd },
    );
    expect([other.code, other.stdout]).toMatchObject([
      1,
      expect.stringContaining('house: ignored: no rule matches the topic x'),
    ]);
  });

  // This test comes last, because the other input is refused in those before.
  test('a changed input follows a reload', async () => {
    await otherIsRefused();
    const file = join(cwd, 'wattline.yaml');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(`password: ${WRONG_PASSWORD}`, `password: ${PASSWORD}`),
    );
    expect((await runCommand(['inputs'], { cwd })).code).toBe(4);
    const reloaded = await runCommand(['reload'], { cwd });
    expect(reloaded.stdout).toContain('changed home');
    await until('the other input is connected', async () =>
      (await states()).every(({ connection }) => connection === 'connected'),
    );
    expect(await runCommand(['inputs'], { cwd })).toMatchObject({ code: 0, stderr: '' });
  });
});
