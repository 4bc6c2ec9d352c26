import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import type { InputState } from '../../src/inputs/input-counter.ts';
import { createMetricsRegistry } from '../../src/metrics/metrics-registry.ts';
import { addStreamMetrics, type StreamView } from '../../src/metrics/stream-metrics.ts';
import { parseScrape } from '../support/parse-scrape.ts';

const nowMs = Date.UTC(2026, 10, 23);

/** The metrics of a stream with the workgroups "home" and "plant". The log of "gone" is still open. */
function setUp(inputs: InputState[] = []) {
  const registry = createMetricsRegistry();
  const workgroups = createWorkgroups(configSchema.parse({ workgroups: [{ id: 'home' }, { id: 'plant' }] }));
  const counts: StreamView['counts'] = () => [
    { workgroupId: 'home', messagesAppended: 5, heldReads: 2, oldestMs: nowMs - 90_500 },
    { workgroupId: 'plant', messagesAppended: 0, heldReads: 0, oldestMs: undefined },
    { workgroupId: 'gone', messagesAppended: 7, heldReads: 1, oldestMs: nowMs },
  ];
  const subscriptions: StreamView['subscriptions'] = () =>
    new Map([
      ['home', 3],
      ['gone', 1],
    ]);
  const noteRefused = addStreamMetrics(
    { registry, workgroups, clock: { now: () => nowMs } },
    { counts, subscriptions, inputs: () => inputs },
  );
  return { noteRefused, workgroups, scrape: async () => parseScrape(registry.text()) };
}

test('messages, readers by transport and the time of the oldest message in seconds', async () => {
  const { value, text } = await setUp().scrape();
  const home = { workgroup: 'home' };
  expect(value('wattline_stream_messages_received_total', home)).toBe(5);
  expect(value('wattline_stream_subscriptions', { ...home, transport: 'rest' })).toBe(2);
  expect(value('wattline_stream_subscriptions', { ...home, transport: 'socket' })).toBe(3);
  expect(value('wattline_stream_oldest_message_timestamp_seconds', home)).toBe(nowMs / 1000 - 90.5);
  expect(value('wattline_stream_oldest_message_timestamp_seconds', { workgroup: 'plant' })).toBeUndefined();
  expect(text).not.toContain('gone');
});

test('refused requests are counted by reason; those of unknown workgroups have one label together', async () => {
  const { noteRefused, scrape, workgroups } = setUp();
  noteRefused('home', 'InvalidRequest');
  noteRefused('home', 'InvalidRequest');
  noteRefused('home', 'RateLimited');
  noteRefused('one', 'WorkgroupForbidden');
  noteRefused('another', 'WorkgroupForbidden');
  const refused = async (workgroup: string, reason: string) =>
    (await scrape()).value('wattline_stream_rejected_total', { workgroup, reason });
  expect(await refused('home', 'InvalidRequest')).toBe(2);
  expect(await refused('home', 'RateLimited')).toBe(1);
  expect(await refused('', 'WorkgroupForbidden')).toBe(2);
  // A workgroup that was removed meanwhile has no metrics. What has no workgroup stays.
  workgroups.replace(configSchema.parse({ workgroups: [{ id: 'plant' }] }));
  expect(await refused('home', 'RateLimited')).toBeUndefined();
  expect(await refused('', 'WorkgroupForbidden')).toBe(2);
});

test('an input is up unless it is troubled, and only a broker has ends of its connection', async () => {
  const input = (members: Partial<InputState>): InputState => ({
    workgroupId: 'home',
    input: 'broker',
    kind: 'mqtt',
    address: 'mqtt://127.0.0.1:1883',
    connection: 'connected',
    sinceMs: nowMs,
    disconnects: 4,
    losses: [],
    lastMessageAtMs: nowMs - 1_500,
    perMinute: 1,
    received: 10,
    stored: 7,
    repeated: 0,
    ignored: 0,
    retained: 0,
    refused: 3,
    ...members,
  });
  const { value, text } = await setUp([
    input({}),
    input({ input: 'away', troubledSinceMs: nowMs, lastMessageAtMs: undefined }),
    input({ input: 'lines', kind: 'lines' }),
    input({ workgroupId: 'gone', input: 'forgotten' }),
  ]).scrape();
  const of = (name: string, id: string) => value(`wattline_input_${name}`, { workgroup: 'home', input: id });
  expect(['broker', 'away', 'lines'].map((id) => of('up', id))).toEqual([1, 0, 1]);
  expect(['broker', 'lines'].map((id) => of('disconnects_total', id))).toEqual([4, undefined]);
  expect(['messages_total', 'stored_total', 'rejected_total'].map((name) => of(name, 'broker'))).toEqual([
    10, 7, 3,
  ]);
  expect(['broker', 'away'].map((id) => of('last_message_timestamp_seconds', id))).toEqual([
    nowMs / 1000 - 1.5,
    undefined,
  ]);
  expect(text).not.toContain('forgotten');
});
