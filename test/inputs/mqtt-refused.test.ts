import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { brokerMissing } from '../support/mosquitto.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { useBroker } from './mqtt-fixture.ts';

const { broker, setUp } = useBroker();

describe.skipIf(brokerMissing)('an MQTT input', () => {
  test('refuses hostile messages one by one, and stores the readings between them (MQTT 3.1.1)', async () => {
    const { id, start, connected, counter, data, messages } = setUp({ version: '3.1.1' });
    start();
    await connected();
    const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
    await broker().publish([
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

  test('keeps 100 bad payloads of a minute, and counts the others', async () => {
    const clock = createTestClock();
    const { id, start, counter, connected, messages } = setUp({ clock });
    start();
    await connected();
    await broker().publish(Array.from({ length: 101 }, (_, index) => [`${id}/x/plain`, `bad ${index}`]));
    await until('all were read', () => counter.state().refused === 101);
    expect(await messages()).toHaveLength(100);
    clock.leap(MINUTE_MS);
    await broker().publish([[`${id}/x/plain`, 'bad again']]);
    await until('it was read', () => counter.state().refused === 102);
    expect((await messages()).at(-1)).toMatchObject({ data: { payload: 'bad again' } });
  });

  test('puts a bad payload into the log with its topic and its reason, acknowledges it, and continues', async () => {
    const { id, start, counter, connected, messages } = setUp();
    start();
    await connected();
    await broker().publish([
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
});

function byTable(one: { table: string }, other: { table: string }): number {
  return one.table.localeCompare(other.table);
}
