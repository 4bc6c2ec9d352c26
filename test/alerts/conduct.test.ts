import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { changeByHand } from '../../src/alerts/change-by-hand.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { WAIT_MS_MAX } from '../support/rounds.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openWatch, silent, startReceiver } from './watch-fixture.ts';

test('many devices of one condition are one message, which says how many more there are', async () => {
  const receiver = await startReceiver();
  const { facts, round } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent(...Array.from({ length: 3_000 }, (_, index) => `device-${index}`));
  await round();
  expect(receiver.received).toHaveLength(1);
  const { title, body, count } = receiver.received[0]!.json as { title: string; body: string; count: number };
  expect(title).toBe('home: Device silent (3,000)');
  expect(count).toBe(3_000);
  expect(body.split('\n')).toHaveLength(21);
  expect(body).toContain('and 2,980 more');
  facts.silences = [];
  await round();
  expect(receiver.titles()).toEqual(['home: Device silent (3,000)', 'home: over: Device silent (3,000)']);
});

test('a webhook is signed, and has a key that is the same at each attempt', async () => {
  const receiver = await startReceiver();
  receiver.answers.push(503);
  const secret = 'a-long-secret';
  const { facts, round, clock } = openWatch({
    channels: [{ id: 'ops', webhook: { url: receiver.url, secret, headers: { 'X-Key': 'one' } } }],
  });
  facts.silences = silent('d1');
  await round();
  await round();
  expect(receiver.received).toHaveLength(1);
  await clock.advance(MINUTE_MS);
  await round();
  const [first, second] = receiver.received;
  expect(receiver.received).toHaveLength(2);
  expect(second!.headers['idempotency-key']).toBe(first!.headers['idempotency-key']);
  const signature = createHmac('sha256', secret).update(second!.text).digest('hex');
  expect(second!.headers['wattline-signature']).toBe(`sha256=${signature}`);
  expect(second!.headers['x-key']).toBe('one');
  await clock.advance(DAY_MS);
  await round();
  expect(receiver.received).toHaveLength(2);
});

test('ntfy gets the text with a title, a priority and tags', async () => {
  const receiver = await startReceiver();
  const { facts, round } = openWatch({
    channels: [{ id: 'phone', ntfy: { url: `${receiver.url}/my-topic`, token: 'tk_1' } }],
  });
  facts.gaps = [];
  await round();
  facts.gaps = [{ gapId: 1, reason: 'expired', fromMs: null, toMs: null }];
  await round();
  const [{ path, text, headers }] = receiver.received as [(typeof receiver.received)[number]];
  expect({ path, text }).toEqual({
    path: '/my-topic',
    text: 'a part of the stream could not be read (expired)',
  });
  expect(headers).toMatchObject({
    title: 'home: Gap in the stream',
    priority: 'high',
    tags: 'warning',
    authorization: 'Bearer tk_1',
  });
  facts.gaps = [];
  await round();
  expect(receiver.received[1]!.headers).toMatchObject({
    title: 'home: over: Gap in the stream',
    priority: 'default',
    tags: 'white_check_mark',
  });
});

test('a refused message is not tried again, does not stop later ones, and has no recovery', async () => {
  const receiver = await startReceiver();
  receiver.answers.push(400);
  const { facts, round, watch } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent('d1');
  await round();
  facts.silences = silent('d1', 'd2');
  await round();
  facts.silences = [];
  await round();
  expect(receiver.received.map(({ json }) => [json.kind, json.body])).toEqual([
    ['raised', 'd1 has sent nothing since 2026-11-20T12:00Z'],
    ['raised', 'd2 has sent nothing since 2026-11-20T12:00Z'],
    ['recovered', 'd2 has sent nothing since 2026-11-20T12:00Z'],
  ]);
  expect((await watch.state()).alarms).toEqual([]);
});

test('an alarm that ends before its message goes out is never sent', async () => {
  const receiver = await startReceiver();
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  receiver.answers.push(503);
  facts.disk = { freeBytes: 1, sizeBytes: 100, folder: '/data', machine: 'plant-1' };
  facts.silences = silent('d1');
  await round();
  // The channel waits before it sends its first message again. Meanwhile the disk is full for long enough,
  // and then has space again.
  await clock.advance(5 * MINUTE_MS);
  facts.disk = { freeBytes: 90, sizeBytes: 100, folder: '/data', machine: 'plant-1' };
  await round();
  await round();
  expect(receiver.titles()).toEqual(['home: Device silent', 'home: Device silent']);
});

test('a message without an answer is tried again, and then its recovery is reported', async () => {
  const receiver = await startReceiver();
  receiver.answers.push(500);
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent('d1');
  await round();
  facts.silences = [];
  await round();
  await clock.advance(MINUTE_MS);
  await round();
  expect(receiver.received.map(({ json }) => json.kind)).toEqual(['raised', 'raised', 'recovered']);
});

test('an alert that was over for a while before its recovery could go out is not reported as over', async () => {
  const receiver = await startReceiver();
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent('d1');
  await round();
  // The channel waits before it sends another message again.
  receiver.answers.push(503);
  facts.lastHour = { messages: 0, quarantined: 1 };
  await round();
  facts.silences = [];
  await round();
  facts.silences = silent('d1');
  await clock.advance(MINUTE_MS);
  await round();
  expect(receiver.titles()).toEqual([
    'home: Device silent',
    'home: Messages not used',
    'home: Messages not used',
  ]);
});

test('a sentence of an alert has 300 characters at most, and shows control characters', async () => {
  const receiver = await startReceiver();
  const { facts, round, watch } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  const stage = { stage: 'rollup', failingMs: HOUR_MS, isAtWork: false, hasSucceeded: false };
  facts.stages = [{ ...stage, why: `a\u001b[31m${'b'.repeat(1_000)}` }];
  await round();
  expect((await watch.state()).alarms[0]!.text).toHaveLength(300);
  expect(receiver.received[0]!.json.body).toMatch(/^rollup: a\\u001b\[31mb+$/);
});

test('a message that fails for a day is composed again from what is true then', async () => {
  const receiver = await startReceiver();
  receiver.answers.push(503, 503);
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent('d1');
  await round();
  facts.silences = silent('d1', 'd2');
  await clock.advance(DAY_MS - 1);
  await round();
  await clock.advance(HOUR_MS);
  await round();
  expect(receiver.received.map(({ json }) => json.count)).toEqual([1, 1, 2]);
  const [first, second, third] = receiver.received.map(({ headers }) => headers['idempotency-key']);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test('a clock that is set back does not delay a failed message or a digest', async () => {
  const receiver = await startReceiver();
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  const exported = (...ids: string[]) => ids.map((id) => ({ id, outdatedFiles: 1 }));
  facts.exports = [];
  await round();
  facts.exports = exported('erp');
  await round();
  receiver.answers.push(503);
  facts.silences = silent('d1');
  await round();
  facts.silences = silent('d1', 'd2');
  facts.exports = exported('erp', 'crm');
  clock.set(TEST_START_MS - 2 * DAY_MS);
  await clock.advance(MINUTE_MS);
  await round();
  expect(receiver.received.map(({ json }) => `${json.title}`)).toEqual([
    'home: Delivered files outdated',
    'home: Device silent',
    'home: Device silent (2)',
    'home: Delivered files outdated',
  ]);
});

test('a message that fails is tried again at the first check after 30 s, then after longer times, up to an hour', async () => {
  const receiver = await startReceiver();
  receiver.answers.push(...Array.from({ length: 9 }, () => 503));
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent('d1');
  const attemptsAfter = async (ms: number) => {
    await clock.advance(ms);
    await round();
    return receiver.received.length;
  };
  expect(await attemptsAfter(0)).toBe(1);
  expect(await attemptsAfter(30 * SECOND_MS - 1)).toBe(1);
  expect(await attemptsAfter(1)).toBe(2);
  expect(await attemptsAfter(30 * SECOND_MS)).toBe(2);
  expect(await attemptsAfter(30 * SECOND_MS)).toBe(3);
  for (let attempts = 4; attempts <= 8; attempts++) expect(await attemptsAfter(HOUR_MS)).toBe(attempts);
  // The wait would double to 64 minutes.
  expect(await attemptsAfter(HOUR_MS - 1)).toBe(8);
  expect(await attemptsAfter(1)).toBe(9);
});

test('two conditions of the same subject are two messages', async () => {
  const receiver = await startReceiver();
  const { facts, round } = openWatch({
    channels: [{ id: 'ops', webhook: { url: receiver.url } }],
    conditions: { behind: { for: '0s' } },
  });
  facts.lagMs = 12 * HOUR_MS;
  await round();
  expect(receiver.titles()).toEqual(['home: Data loss ahead', 'home: Behind the stream']);
});

test('a channel that does not answer does not delay another channel or the next check of conditions', {
  tags: ['slow'],
}, async () => {
  const receiver = await startReceiver();
  const slow = await startReceiver();
  slow.answers.push(0);
  const { facts, watch } = openWatch({
    channels: [
      { id: 'slow', webhook: { url: slow.url } },
      { id: 'ops', webhook: { url: receiver.url } },
    ],
  });
  facts.silences = silent('d1');
  await watch.round();
  facts.silences = silent('d1', 'd2');
  await expect.poll(() => receiver.received.length, { timeout: WAIT_MS_MAX }).toBe(1);
  await expect
    .poll(
      async () => {
        await watch.round();
        return receiver.received.length;
      },
      { timeout: WAIT_MS_MAX },
    )
    .toBe(2);
  expect(slow.received).toHaveLength(1);
  await watch.leave();

  // Nobody knows whether the message has arrived, so the next owner sends it again.
  await watch.round();
  await watch.settled();
  const ids = slow.received.map(({ headers }) => headers['idempotency-key']);
  expect(ids).toHaveLength(3);
  expect([ids[1] === ids[0], ids[2] === ids[0]]).toEqual([true, false]);
});

test('a worker that gave its workgroup away and gets it back reports what is new, and nothing twice', async () => {
  const receiver = await startReceiver();
  const { facts, round, watch } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent('d1');
  await round();
  await watch.leave();
  facts.silences = silent('d1', 'd2');
  await round();
  expect(receiver.received.map(({ json }) => json.body)).toEqual([
    'd1 has sent nothing since 2026-11-20T12:00Z',
    'd2 has sent nothing since 2026-11-20T12:00Z',
  ]);
});

test('a digest comes at most once an hour', async () => {
  const receiver = await startReceiver();
  const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  const restated = (version: number) => ({
    day: '2026-11-18',
    device: 'd1',
    source: 'pv',
    seenUntilMs: TEST_START_MS + 2 * DAY_MS,
    version,
    beforeWh: version,
    afterWh: version + 1,
  });
  facts.restatedDays = [];
  await round();
  for (let version = 2; version <= 6; version++) {
    facts.restatedDays = [...facts.restatedDays, restated(version)];
    await round();
    await clock.advance(10 * MINUTE_MS);
  }
  await clock.advance(10 * MINUTE_MS);
  await round();
  expect(receiver.received.map(({ json }) => json.count)).toEqual([1, 4]);
});

test('a snoozed condition is reported at the end of the snooze if it still holds', async () => {
  const receiver = await startReceiver();
  const { facts, round, watch, clock } = openWatch({
    channels: [{ id: 'ops', webhook: { url: receiver.url } }],
  });
  await round();
  const snooze = { do: 'snooze', condition: 'deviceSilent', forMs: HOUR_MS, by: 'anna' } as const;
  await watch.change(changeByHand(snooze, clock.now()));
  facts.silences = silent('d1', 'd2');
  await round();
  facts.silences = silent('d2');
  await clock.advance(HOUR_MS - 1);
  await round();
  expect(receiver.received).toHaveLength(0);
  await clock.advance(1);
  await round();
  expect(receiver.received.map(({ json }) => json.body)).toEqual([
    'd2 has sent nothing since 2026-11-20T12:00Z',
  ]);
});

test('what was reported before a restart is not reported again, but its recovery is', async () => {
  const receiver = await startReceiver();
  const settings = { channels: [{ id: 'ops', webhook: { url: receiver.url } }] };
  const first = openWatch(settings);
  first.facts.silences = silent('d1');
  await first.round();
  const second = openWatch(settings, { store: first.store });
  second.facts.silences = silent('d1');
  await second.round();
  expect(receiver.received).toHaveLength(1);
  second.facts.silences = [];
  await second.round();
  expect(receiver.received.map(({ json }) => json.kind)).toEqual(['raised', 'recovered']);
});

test('alarms are bounded', async () => {
  const receiver = await startReceiver();
  const { facts, round, watch } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = silent(...Array.from({ length: 10_050 }, (_, index) => `device-${index}`));
  await round();
  expect((await watch.state()).alarms).toHaveLength(10_000);
});

test('changed settings hold from the next round on, and repeat nothing', async () => {
  const [receiver, other] = [await startReceiver(), await startReceiver()];
  const ops = { id: 'ops', webhook: { url: receiver.url } };
  const { facts, round, configure, watch } = openWatch({ channels: [ops] });
  facts.silences = silent('d1');
  facts.disk = { freeBytes: 1, sizeBytes: 100, folder: '/data', machine: 'plant-1' };
  await round();
  configure({ channels: [ops, { id: 'owner', webhook: { url: other.url } }], conditions: { disk: 'off' } });
  await round();
  await round();
  // A new channel learns what is open.
  expect([receiver.titles(), other.titles()]).toEqual([['home: Device silent'], ['home: Device silent']]);
  configure({ channels: [ops], conditions: { deviceSilent: { limit: '3h' } } });
  await round();
  await round();
  expect(receiver.titles()).toEqual(['home: Device silent', 'home: over: Device silent']);
  expect(other.titles()).toEqual(['home: Device silent']);
  expect((await watch.state()).channels).not.toHaveProperty('owner');
});

test('a condition that is switched off sends no recovery, and its alerts are gone', async () => {
  const receiver = await startReceiver();
  const ops = { id: 'ops', webhook: { url: receiver.url } };
  const { facts, round, configure, watch } = openWatch({ channels: [ops] });
  facts.silences = silent('d1');
  await round();
  configure({ channels: [ops], conditions: { deviceSilent: 'off' } });
  await round();
  expect((await watch.state()).alarms).toEqual([]);
  expect(receiver.titles()).toEqual(['home: Device silent']);
});
