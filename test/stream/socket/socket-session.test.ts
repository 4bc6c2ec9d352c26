import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { RefusedToken } from '../../../src/access/refused-token.ts';
import { createInTurn } from '../../../src/lib/in-turn.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { ConnectionContext, SocketConnection } from '../../../src/stream/socket/socket-connection.ts';
import { createFrameSource } from '../../../src/stream/socket/socket-frames.ts';
import { createSession } from '../../../src/stream/socket/socket-session.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';
import { tinyBatch } from '../log/log-under-test.ts';

type Answer = Record<string, unknown>;

/** A session of a connection to an empty log. At most two subscriptions are possible. */
function setUp(context: Partial<ConnectionContext> = {}) {
  const clock = createTestClock();
  const options = { clock, retentionMs: 3_600_000, logger: silentLogger };
  const log = createMemoryLog({ ...options, bytesMax: 1e8 });
  const state = {
    waitSeconds: 0,
    isRevoked: false,
    isClear: true,
    disconnects: 0,
    frames: 0,
    holdsFrames: false,
  };
  const emitted: Array<[event: string, payload: Answer]> = [];
  const listeners = new Set<() => void>();
  const connection: SocketConnection = {
    acknowledges: undefined,
    emit: (event, payload) => emitted.push([event, payload as Answer]),
    sendFrame: () => {
      state.frames++;
      if (state.holdsFrames) state.isClear = false;
    },
    isClear: () => state.isClear,
    inTurn: createInTurn(),
    onClear: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    disconnect: () => {
      state.disconnects++;
    },
  };
  const session = createSession(
    connection,
    {
      workgroupId: 'home',
      grant: { tokenId: 't', subject: 's', scopes: {}, expiresAtMs: 0 },
      devices: 'all',
      seesAudit: false,
      log,
      frames: createFrameSource(log, options),
      ...context,
    },
    {
      ...options,
      recheck() {
        if (state.isRevoked) throw new RefusedToken('revoked');
      },
      rateLimit: { take: () => state.waitSeconds },
      subscriptionsMax: 2,
      startTimer: clock.startTimer,
    },
  );
  const answers: Answer[] = [];
  const send = (event: string, payload?: unknown) =>
    session.receive(event, [payload, (answer: Answer) => answers.push(answer)]);
  /** Sends an event, and returns its answer. */
  const ask = async (event: string, payload?: unknown) => {
    send(event, payload);
    await settle();
    return answers.at(-1);
  };
  const subscribe = (payload: object = {}) => ask('stream:latest', { requestId: randomUUID(), ...payload });
  const clear = () => {
    state.isClear = true;
    for (const listener of [...listeners]) listener();
  };
  return { clock, log, session, state, emitted, answers, send, ask, subscribe, clear };
}

test('a subscription is answered by the acknowledgement and by an event', async () => {
  const { subscribe, emitted, session } = setUp();
  const requestId = randomUUID();
  const answer = await subscribe({ requestId });
  expect(answer).toMatchObject({ requestId, nextOffset: '0' });
  expect(emitted).toEqual([['stream:latest:rpc', answer]]);
  session.close();
});

test('an id is used once at a time, and the number of subscriptions is limited', async () => {
  const { subscribe, ask, session } = setUp();
  const requestId = randomUUID();
  await subscribe({ requestId });
  expect(await subscribe({ requestId })).toMatchObject({ error: 'DuplicateRequest', requestId });
  await subscribe();
  expect(await subscribe()).toMatchObject({ error: 'RateLimited' });
  expect(session.size).toBe(2);
  expect(await ask('stream:latest:stop', { requestId })).toEqual({ requestId });
  expect(session.size).toBe(1);
  expect(await ask('stream:latest:stop', { requestId })).toMatchObject({ error: 'InvalidRequest' });
  expect(await subscribe({ requestId })).toHaveProperty('nextOffset');
  session.close();
  expect(session.size).toBe(0);
});

test.each([
  [10_000, false],
  [10_001, true],
])('a client that reads nothing for 30 s while %i messages wait is ended: %s', async (count, isEnded) => {
  const { clock, log, state, session, subscribe, emitted } = setUp();
  await log.append(tinyBatch(count));
  state.isClear = false;
  await subscribe({ timestamp: 1 });
  await clock.advance(29_999);
  expect(session.size).toBe(1);
  await clock.advance(1);
  expect(session.size).toBe(isEnded ? 0 : 1);
  const stops = emitted.filter(([event]) => event === 'stream:latest:stop');
  expect(stops.map(([, { reason }]) => reason)).toEqual(isEnded ? ['consumer_too_slow'] : []);
  session.close();
});

test('a frame that fills the connection holds the frame of the next subscription back', async () => {
  const { log, state, session, subscribe, clear } = setUp();
  await log.append(tinyBatch(10));
  state.holdsFrames = true;
  state.isClear = false;
  for (const limit of [20, 30]) await subscribe({ timestamp: 1, limit });
  expect(state.frames).toBe(0);
  clear();
  await settle();
  expect(state.frames).toBe(1);
  clear();
  await settle();
  expect(state.frames).toBe(2);
  session.close();
});

test('a subscription that cannot begin takes no place', async () => {
  const { subscribe, session, state } = setUp();
  expect(await subscribe({ offset: '5' })).toMatchObject({ error: 'OffsetAhead' });
  state.isRevoked = true;
  expect(await subscribe()).toMatchObject({ error: 'InvalidToken' });
  expect(session.size).toBe(0);
});

test.each<[table: string | undefined, seesAudit: boolean, isPossible: boolean]>([
  [undefined, false, true],
  ['solar', false, true],
  ['-', false, false],
  ['audit_logs', false, false],
  ['-', true, true],
  ['audit_logs', true, true],
])(
  'the table %s with the right to audit messages (%s) can be read: %s',
  async (table, seesAudit, isPossible) => {
    const { subscribe, session } = setUp({ seesAudit });
    expect(await subscribe({ table })).toMatchObject(
      isPossible
        ? { nextOffset: '0' }
        : { error: 'InsufficientScope', required: ['search:read', 'org:audit'] },
    );
    session.close();
  },
);

test.each([
  ['has no text as id', { requestId: 7 }, null],
  ['has a long id', { requestId: 'x'.repeat(65) }, null],
  ['has an id that is no UUID', { requestId: 'x'.repeat(64) }, 'x'.repeat(64)],
  ['is missing', undefined, null],
])('a refusal names the id of a request if it is short text: one that %s', async (_, payload, requestId) => {
  expect(await setUp().ask('stream:latest', payload)).toMatchObject({ error: 'InvalidRequest', requestId });
});

test('an event that does not exist is refused if its sender wants an answer', async () => {
  const { session, answers, ask, emitted } = setUp();
  session.receive('other', [{}]);
  session.receive('toString', [{}]);
  expect(answers).toEqual([]);
  expect(await ask('other', {})).toMatchObject({
    error: 'InvalidRequest',
    message: 'this event does not exist: send stream:latest or stream:latest:stop',
  });
  expect(emitted).toEqual([]);
});

test('a client is disconnected after the rate limit has refused 100 requests in a row', () => {
  const { state, send, answers } = setUp();
  const refused = (requests: number) => {
    state.waitSeconds = 3;
    for (let request = 0; request < requests; request++) send('other');
    state.waitSeconds = 0;
  };
  refused(100);
  send('other');
  refused(100);
  expect(state.disconnects).toBe(0);
  expect(answers[0]).toMatchObject({ error: 'RateLimited', message: expect.stringContaining('wait 3 s') });
  refused(1);
  expect(state.disconnects).toBe(1);
});

test('a client is disconnected if it sends more and has not read 501 answers', () => {
  const { state, send, clear } = setUp();
  for (let request = 0; request < 501; request++) send('other');
  clear();
  for (let request = 0; request < 501; request++) send('other');
  expect(state.disconnects).toBe(0);
  send('other');
  expect(state.disconnects).toBe(1);
});

test('nothing is answered after the end', async () => {
  const { session, ask } = setUp();
  session.close();
  expect(await ask('other')).toBeUndefined();
});
