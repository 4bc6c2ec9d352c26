import { connectAsync } from 'mqtt';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { brokerMissing } from '../support/mosquitto.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { useBroker } from './mqtt-fixture.ts';

const { broker, setUp } = useBroker();

describe.skipIf(brokerMissing)('an MQTT input', () => {
  test.each([5, '3.1.1'] as const)(
    'keeps the order of the broker, and each reading has its own time (MQTT %s)',
    async (version) => {
      const { id, start, connected, counter, messages } = setUp({ version });
      start();
      await connected();
      const values = Array.from({ length: 3_000 }, (_, index) => index);
      await broker().publish(values.map((value) => [`${id}/x/plain`, String(value)] as const));
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
      await broker().publish([[`${id}/x/plain`, '1']]);
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
    await broker().publish([
      [`${id}/x/plain`, '1'],
      [`${id}/x/plain`, '2'],
    ]);
    start();
    await until('both are stored', () => counter.state().stored === 2);
    expect(await data()).toEqual([{ power: 1 }, { power: 2 }]);
  });

  test.each([5, '3.1.1'] as const)('takes no retained message for a reading (MQTT %s)', async (version) => {
    const { id, start, connected, counter, data } = setUp({ version });
    await broker().publish(
      [
        [`${id}/x/plain`, '1'],
        [`${id}/y/json`, `{"wh":1,"t":${Date.now()}}`],
      ],
      { retain: true },
    );
    const stop = start();
    await connected();
    // A message that comes while it is connected is one, though the broker retains it.
    await broker().publish([[`${id}/x/plain`, '2']], { retain: true });
    await until('the new one is stored', () => counter.state().stored === 1);
    await stop();
    start();
    await broker().publish([[`${id}/x/plain`, '3']]);
    await until('the last one is stored', () => counter.state().stored === 2);
    expect(await data()).toEqual([{ power: 2 }, { power: 3 }]);
    if (version === '3.1.1') expect(counter.state().retained).toBeGreaterThanOrEqual(2);
    else expect(counter.state().retained).toBe(0);
  });

  test('sends its request regularly', { tags: ['slow'] }, async () => {
    const asked: string[] = [];
    const client = await connectAsync(broker().url);
    onTestFinished(() => client.endAsync());
    client.on('message', (topic, payload) => void asked.push(`${topic} ${payload}`));
    await client.subscribeAsync('R/portal/keepalive');
    const request = { topic: 'R/portal/keepalive', payload: 'now', every: 1_000 };
    setUp({ more: { request } }).start();
    await until('it was sent twice', () => asked.length >= 2);
    expect(new Set(asked)).toEqual(new Set(['R/portal/keepalive now']));
  });
});
