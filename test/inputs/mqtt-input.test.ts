import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { startMqttInput } from '../../src/inputs/mqtt-input.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Clock, HOUR_MS, MINUTE_MS, systemClock } from '../../src/lib/time.ts';
import { type StartTimer, startSystemTimer } from '../../src/lib/timer.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { startAckGate } from '../support/ack-gate.ts';
import { brokerMissing, startBroker, type TestBroker } from '../support/mosquitto.ts';
import { startQuickTimer } from '../support/quick-timer.ts';
import { readToTail } from '../support/redis-log.ts';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { startWebSocketGateway } from '../support/web-socket-gateway.ts';

let broker: TestBroker;
beforeAll(async () => {
  if (brokerMissing === undefined) broker = await startBroker();
});
afterAll(() => broker?.stop());

let number = 0;

/** An input with a session and topics of its own. */
function setUp({
  url = broker.url,
  version = 5,
  log = memoryLog(),
  clock = systemClock,
  startTimer = startSystemTimer,
  more = {},
}: {
  url?: string;
  version?: 5 | '3.1.1';
  log?: StreamLog;
  clock?: Clock;
  startTimer?: StartTimer;
  /** More settings of the input. */
  more?: object;
} = {}) {
  const id = `input-${++number}`;
  const rules = [
    { topic: `${id}/{device}/plain`, table: 'plain', fields: { power: 'payload' } },
    {
      topic: `${id}/{device}/json`,
      table: 'json',
      fields: { wh: '/wh' },
      time: { from: '/t', format: 'milliseconds' },
    },
  ];
  const inputs = { mqtt: [{ id, url, version, rules, ...more }] };
  const workgroup = configSchema.parse({ workgroups: [{ id: 'acme', inputs }] }).workgroups[0]!;
  const counter = createInputCounter(
    { workgroupId: 'acme', input: id, kind: 'mqtt', address: url, connection: 'connecting' },
    systemClock,
  );
  const start = () => {
    const stop = startMqttInput({
      workgroup,
      settings: workgroup.inputs!.mqtt[0]!,
      log,
      counter,
      clock,
      startTimer,
      logger: silentLogger,
    });
    onTestFinished(stop);
    return stop;
  };
  const connected = () => until('the input is connected', () => counter.state().connection === 'connected');
  const messages = async () => (await readToTail(log)).messages;
  const data = async () =>
    (await messages()).map((message) => ('data' in message ? message.data : undefined));
  return { id, log, counter, start, connected, messages, data };
}

function memoryLog(): StreamLog {
  return createMemoryLog({
    clock: systemClock,
    retentionMs: 3_600_000,
    bytesMax: 1e8,
    logger: silentLogger,
  });
}

describe.skipIf(brokerMissing)('an MQTT input', () => {
  test.each([5, '3.1.1'] as const)(
    'keeps the order of the broker, and each reading has its own time (MQTT %s)',
    async (version) => {
      const { id, start, connected, counter, messages } = setUp({ version });
      start();
      await connected();
      const values = Array.from({ length: 3_000 }, (_, index) => index);
      await broker.publish(values.map((value) => [`${id}/x/plain`, String(value)] as const));
      await until('all are stored', () => counter.state().stored === values.length);
      const stored = await messages();
      expect(stored.map((message) => 'data' in message && message.data?.power)).toEqual(values);
      expect(new Set(stored.map(({ event_time }) => event_time)).size).toBe(values.length);
      expect(counter.state()).toMatchObject({
        received: values.length,
        perMinute: values.length,
        refused: 0,
        ignored: 0,
      });
    },
  );

  test('gives readings the time of the clock again after it was set forward and back', async () => {
    const clock = createTestClock();
    const startMs = clock.now();
    const { id, start, connected, counter, messages } = setUp({ clock });
    start();
    await connected();
    const times = [startMs, startMs + HOUR_MS, startMs + MINUTE_MS, startMs + MINUTE_MS];
    for (const [index, nowMs] of times.entries()) {
      clock.set(nowMs);
      await broker.publish([[`${id}/x/plain`, '1']]);
      await until('it is stored', () => counter.state().stored === index + 1);
    }
    expect((await messages()).map(({ event_time }) => event_time)).toEqual([
      startMs,
      startMs + HOUR_MS,
      startMs + MINUTE_MS,
      startMs + MINUTE_MS + 1,
    ]);
  });

  test('gets what the broker kept while it was away', async () => {
    const { id, start, connected, counter, data } = setUp();
    const stop = start();
    await connected();
    await stop();
    await broker.publish([
      [`${id}/x/plain`, '1'],
      [`${id}/x/plain`, '2'],
    ]);
    start();
    await until('both are stored', () => counter.state().stored === 2);
    expect(await data()).toEqual([{ power: 1 }, { power: 2 }]);
  });

  test.each([5, '3.1.1'] as const)('takes no retained message for a reading (MQTT %s)', async (version) => {
    const { id, start, connected, counter, data } = setUp({ version });
    await broker.publish(
      [
        [`${id}/x/plain`, '1'],
        [`${id}/y/json`, `{"wh":1,"t":${Date.now()}}`],
      ],
      { retain: true },
    );
    const stop = start();
    await connected();
    // A message that comes while it is connected is one, though the broker retains it.
    await broker.publish([[`${id}/x/plain`, '2']], { retain: true });
    await until('the new one is stored', () => counter.state().stored === 1);
    await stop();
    start();
    await broker.publish([[`${id}/x/plain`, '3']]);
    await until('the last one is stored', () => counter.state().stored === 2);
    expect(await data()).toEqual([{ power: 2 }, { power: 3 }]);
    if (version === '3.1.1') expect(counter.state().retained).toBeGreaterThanOrEqual(2);
    else expect(counter.state().retained).toBe(0);
  });

  test('refuses hostile messages one by one, and stores the readings between them (MQTT 3.1.1)', async () => {
    const { id, start, connected, counter, data, messages } = setUp({ version: '3.1.1' });
    start();
    await connected();
    const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
    await broker.publish([
      [`${id}/${'x'.repeat(60_000)}/plain`, '1'],
      [`${id}/x/plain`, Buffer.alloc(8 * 1024 * 1024, 'ä')],
      [`${id}/x/plain`, Buffer.alloc(1_000, 0xff)],
      [`${id}/x/plain`, deep],
      [`${id}/x/json`, `{"wh":${deep}}`],
      [`${id}/x/json`, '{"wh":1,"t":1e308}'],
      [`${id}/../plain`, '1e999'],
      [`${id}/../plain`, '7'],
    ]);
    await until('all are handled', () => counter.state().stored === 1 && counter.state().refused === 7);
    expect((await data()).filter(Boolean)).toContainEqual({ power: 7 });
    const kept = (await messages()).filter((message) => 'action' in message);
    expect(kept.map(({ data }) => [data?.bytes, String(data?.payload).length])).toEqual(
      expect.arrayContaining([
        [8 * 1024 * 1024, 2_000],
        [1_000, 1_336],
      ]),
    );
    expect(Math.max(...kept.map(({ target }) => String(target).length))).toBe(4_096);
  });

  test('stores a message once that the broker delivers again, if it has its own time', async () => {
    const gate = await startAckGate(broker.port);
    onTestFinished(gate.close);
    const { id, start, counter, connected, data } = setUp({ url: `mqtt://127.0.0.1:${gate.port}` });
    gate.onAck = () => 'lose';
    const stop = start();
    await connected();
    const atMs = Date.now() - 60_000;
    await broker.publish([
      [`${id}/x/json`, `{"wh":1,"t":${atMs}}`],
      [`${id}/x/json`, `{"wh":2,"t":${atMs + 1}}`],
      [`${id}/x/plain`, '7'],
    ]);
    await until('all are stored', () => counter.state().stored === 3);
    await stop();
    gate.onAck = () => 'pass';
    start();
    await until('they came again', () => counter.state().received === 6 && counter.state().stored === 4);
    expect(counter.state().repeated).toBe(2);
    expect((await data()).toSorted(byKey)).toEqual([{ power: 7 }, { power: 7 }, { wh: 1 }, { wh: 2 }]);
  });

  test('acknowledges what is stored, and tries again while it cannot be stored, without storing it twice', async () => {
    const gate = await startAckGate(broker.port);
    onTestFinished(gate.close);
    const log = memoryLog();
    let appends = 0;
    const failing: StreamLog = {
      ...log,
      async append(batch) {
        appends++;
        if (appends === 2) await log.append(batch);
        if (appends <= 2) throw new StreamError('StorageUnavailable', 'the disk is full');
        return log.append(batch);
      },
    };
    const url = `mqtt://127.0.0.1:${gate.port}`;
    const input = setUp({ url, log: failing, startTimer: startQuickTimer });
    const { id, start, counter, connected, data } = input;
    const storedAtAck: number[] = [];
    const problems: Array<string | undefined> = [];
    gate.onAck = async () => {
      storedAtAck.push((await data()).length);
      problems.push(counter.state().problem);
      return 'pass' as const;
    };
    start();
    await connected();
    await broker.publish([[`${id}/x/plain`, '1']]);
    await until('it is acknowledged', () => storedAtAck.length > 0);
    expect({ storedAtAck, problems }).toEqual({ storedAtAck: [1], problems: [undefined] });
    expect(counter.state()).toMatchObject({ stored: 1, problem: undefined });
  });

  test('a message that could not be stored before the input was stopped comes again', async () => {
    const log = memoryLog();
    let isFull = true;
    const failing: StreamLog = {
      ...log,
      async append(batch) {
        if (isFull) throw new StreamError('StorageUnavailable', 'the disk is full');
        return log.append(batch);
      },
    };
    const { id, start, counter, connected, data } = setUp({ log: failing });
    const stop = start();
    await connected();
    await broker.publish([[`${id}/x/plain`, '1']]);
    await until('the problem shows', () => counter.state().problem?.endsWith('the disk is full') ?? false);
    await stop();
    isFull = false;
    start();
    await until('it is stored', () => counter.state().stored === 1);
    expect(await data()).toEqual([{ power: 1 }]);
  });

  test('a message that still waits when the connection ends is stored once, because the broker sends it again', async () => {
    const gate = await startAckGate(broker.port);
    onTestFinished(gate.close);
    const log = memoryLog();
    const free = Promise.withResolvers<void>();
    const busy: StreamLog = {
      ...log,
      async append(batch) {
        await free.promise;
        return log.append(batch);
      },
    };
    const url = `mqtt://127.0.0.1:${gate.port}`;
    const { id, start, counter, connected, data } = setUp({ url, log: busy, startTimer: startQuickTimer });
    start();
    await connected();
    await broker.publish([[`${id}/x/plain`, '1']]);
    await until('one is being stored', () => counter.state().received === 1);
    await broker.publish([[`${id}/x/plain`, '2']]);
    await until('one waits', () => counter.state().received === 2);
    gate.cut();
    await until('both came again', () => counter.state().received === 4);
    free.resolve();
    await until('all are stored', () => counter.state().stored === 3);
    // The first one has no time of its own, so it cannot be found again.
    expect(await data()).toEqual([{ power: 1 }, { power: 1 }, { power: 2 }]);
  });

  test('keeps 100 bad payloads of a minute, and counts the others', async () => {
    const clock = createTestClock();
    const { id, start, counter, connected, messages } = setUp({ clock });
    start();
    await connected();
    await broker.publish(Array.from({ length: 101 }, (_, index) => [`${id}/x/plain`, `bad ${index}`]));
    await until('all were read', () => counter.state().refused === 101);
    expect(await messages()).toHaveLength(100);
    clock.leap(MINUTE_MS);
    await broker.publish([[`${id}/x/plain`, 'bad again']]);
    await until('it was read', () => counter.state().refused === 102);
    expect((await messages()).at(-1)).toMatchObject({ data: { payload: 'bad again' } });
  });

  test('puts a bad payload into the log with its topic and its reason, acknowledges it, and continues', async () => {
    const { id, start, counter, connected, messages } = setUp();
    start();
    await connected();
    await broker.publish([
      [`${id}/x/plain`, 'broken'],
      [`${id}/x/plain`, Buffer.of(0xff, 0xfe)],
      [`${id}/x/json`, '{"wh":'],
      [`${id}/x/json`, '{"other":1}'],
      [`${id}/x/plain`, '5'],
    ]);
    await until('all were read', () => counter.state().received === 5 && counter.state().stored === 1);
    const reason = expect.stringMatching(/must be a number|not text|not JSON/);
    const refused = (topic: string, payload: string) => ({
      kind: 'audit',
      table: 'audit_logs',
      actor: `input ${id}`,
      action: 'input.refused',
      target: `${id}/x/${topic}`,
      data: { reason, payload },
    });
    await until('they are in the log', async () => (await messages()).length === 4);
    expect((await messages()).toSorted(byTable)).toMatchObject([
      refused('plain', 'broken'),
      refused('plain', '//4='),
      refused('json', '{"wh":'),
      { table: 'plain', data: { power: 5 } },
    ]);
    expect(counter.state()).toMatchObject({ refused: 3, ignored: 1, lastRefused: { about: `${id}/x/json` } });
  });

  test('connects again after the broker was restarted, and loses nothing', async () => {
    const { id, start, counter, connected, data } = setUp();
    start();
    await connected();
    await broker.restart(() => until('it is noticed', () => counter.state().connection === 'disconnected'));
    await broker.publish([[`${id}/x/plain`, '1']]);
    await connected();
    await broker.publish([[`${id}/x/plain`, '2']]);
    await until('both are stored', () => counter.state().stored === 2);
    expect(await data()).toEqual([{ power: 1 }, { power: 2 }]);
  });

  test('trusts a broker by the authority that the configuration names, and says so if it does not', async () => {
    const { tlsUrl, stop, publish } = await startBroker(undefined, { tls: true });
    onTestFinished(stop);
    const stranger = setUp({ url: tlsUrl! });
    stranger.start();
    await until('the problem shows', () => stranger.counter.state().problem !== undefined);
    expect(stranger.counter.state().problem).toContain('the certificate of the broker is not trusted');
    const trusting = setUp({ url: tlsUrl!, more: { ca: testCertificate } });
    trusting.start();
    await trusting.connected();
    await publish([[`${trusting.id}/x/plain`, '1']]);
    await until('it is stored', () => trusting.counter.state().stored === 1);
    const broken = setUp({ url: tlsUrl!, more: { clientCertificate: 'no PEM', clientKey: 'no PEM' } });
    broken.start();
    await until('the problem shows', () => broken.counter.state().problem !== undefined);
  });

  test.each(['mqtts', 'wss'])('shows its certificate to those who ask for one (%s)', async (protocol) => {
    const own = await startBroker(undefined, { tls: true });
    onTestFinished(own.stop);
    const url = protocol === 'mqtts' ? own.clientTlsUrl! : await startWebSocketGateway(own.port);
    const stranger = setUp({ url, more: { ca: testCertificate } });
    stranger.start();
    await until('the problem shows', () => stranger.counter.state().problem !== undefined);
    expect(stranger.counter.state().problem).toMatch(
      /^the broker wants a certificate of its clients \(.*\); set clientCertificate and clientKey$/,
    );
    const clientCertificate = testCertificate;
    const known = setUp({
      url,
      more: { ca: testCertificate, clientCertificate, clientKey: testCertificateKey },
    });
    known.start();
    await known.connected();
    await own.publish([[`${known.id}/x/plain`, '1']]);
    await until('it is stored', () => known.counter.state().stored === 1);
    expect(await known.data()).toEqual([{ power: 1 }]);
  });

  test('sends its request regularly', async () => {
    const asked: string[] = [];
    const client = await connectAsync(broker.url);
    onTestFinished(() => client.endAsync());
    client.on('message', (topic, payload) => void asked.push(`${topic} ${payload}`));
    await client.subscribeAsync('R/portal/keepalive');
    const request = { topic: 'R/portal/keepalive', payload: 'now', every: 1_000 };
    setUp({ more: { request } }).start();
    await until('it was sent twice', () => asked.length >= 2);
    expect(new Set(asked)).toEqual(new Set(['R/portal/keepalive now']));
  });

  test('says that a broker cannot be reached, and that the password is wrong', async () => {
    const away = setUp({ url: 'mqtt://127.0.0.1:1' });
    away.start();
    await until('the problem shows', () => away.counter.state().problem !== undefined);
    expect(away.counter.state()).toMatchObject({
      connection: 'disconnected',
      problem: expect.stringContaining('ECONNREFUSED'),
    });
    const strict = await startBroker({ wattline: 'right' });
    onTestFinished(strict.stop);
    const stranger = setUp({ url: strict.url });
    stranger.start();
    await until('the problem shows', () => stranger.counter.state().problem !== undefined);
    expect(stranger.counter.state().problem).toBe(
      'the broker wants a user and a password; set username and password',
    );
  });
});

function byTable(one: { table: string }, other: { table: string }): number {
  return one.table.localeCompare(other.table);
}

/** By the name of the field. */
function byKey(one: object | undefined, other: object | undefined): number {
  return Object.keys(one ?? {})
    .join()
    .localeCompare(Object.keys(other ?? {}).join());
}
