import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { startMqttInput } from '../../src/inputs/mqtt-input.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Clock, systemClock } from '../../src/lib/time.ts';
import { type StartTimer, startSystemTimer } from '../../src/lib/timer.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { brokerMissing, startBroker, type TestBroker } from '../support/mosquitto.ts';
import { readToTail } from '../support/redis-log.ts';
import { until } from '../support/until.ts';

/**
 * Starts a broker for the tests of a file, if one is installed. `setUp` makes an input with its own session
 * and topics, by default of this broker.
 */
export function useBroker() {
  let broker: TestBroker | undefined;
  beforeAll(async () => {
    if (brokerMissing === undefined) broker = await startBroker();
  });
  afterAll(() => broker?.stop());
  return {
    broker: () => broker!,
    setUp: (options: Partial<InputOptions> = {}) => openInput({ url: broker!.url, ...options }),
  };
}

let number = 0;

interface InputOptions {
  url: string;
  version?: 5 | '3.1.1';
  log?: StreamLog;
  clock?: Clock;
  startTimer?: StartTimer;
  /** More settings of the input. */
  more?: object;
}

function openInput({
  url,
  version = 5,
  log = memoryLog(),
  clock = systemClock,
  startTimer = startSystemTimer,
  more = {},
}: InputOptions) {
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

export function memoryLog(): StreamLog {
  return createMemoryLog({
    clock: systemClock,
    retentionMs: 3_600_000,
    bytesMax: 1e8,
    logger: silentLogger,
  });
}
