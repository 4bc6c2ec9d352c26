import { setTimeout as sleep } from 'node:timers/promises';
import { socketEvents } from '../contract/socket-events.ts';
import { limits } from '../contract/wire-limits.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import { formatInstant, SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { must } from './breach.ts';
import { itemMember } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { mustBeSame, ownMessages, readToTail, sampleOf, sendOwn, telemetryItem } from './sample-messages.ts';
import { batchOfItem, type Message, shorten } from './server-answer.ts';
import { type Frame, type Payload, request, type SocketClient, withClient } from './socket-client.ts';

/** After this time no further frame is expected. */
const QUIET_MS = 300;
/** Messages for more than three frames, by number and by size. */
const LARGE = { messages: 3_200, textCharacters: 700 };

/** Rules on the frames of a subscription. */
export const socketDataRules: readonly Rule[] = [
  {
    id: 'socket.frame',
    says: 'A data frame is one binary payload: the map of a REST answer and the requestId',
    source: contractSections.sockets,
    needs: ['socket'],
    check: (probe) =>
      withClient(probe, async (client) => {
        const { messages } = await sampleOf(probe);
        const { requestId } = await subscribe(client, probe, { offset: String(messages[0]!.offset) });
        const frame = await client.until('a data frame', () => client.frames[0]);
        must(
          frame.isBinary && frame.item !== undefined,
          () => `a frame that is ${frame.problem}`,
          client.sent,
        );
        must(frame.requestId === requestId, () => `requestId ${shorten(frame.requestId)}`, client.sent);
        const types = { messages: 'array', nextOffset: 'integer', count: 'integer', upToDate: 'simple' };
        for (const [name, type] of Object.entries({ ...types, earliestOffset: 'integer', epoch: 'text' })) {
          const seen = itemMember(frame.item, name)?.type ?? 'absent';
          must(seen === type, () => `${name} is ${seen}, not ${type}`, client.sent);
        }
      }),
  },
  {
    id: 'socket.replay',
    says: 'From an offset or a timestamp a subscription returns the same messages as REST',
    source: contractSections.sockets,
    needs: ['socket'],
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const [first] = messages;
      for (const start of [
        { offset: String(first!.offset) },
        { timestamp: formatInstant(first!.storeTimeMs) },
        { timestamp: first!.storeTimeMs },
      ])
        await withClient(probe, async (client) => {
          await subscribe(client, probe, start);
          await mustBring(client, messages, shorten(start));
        });
    },
  },
  {
    id: 'socket.newest',
    says: 'Without offset and timestamp a subscription returns only new messages',
    source: contractSections.sockets,
    needs: ['socket', 'write'],
    async check(probe) {
      await ownMessages(probe);
      await withClient(probe, async (client) => {
        await subscribe(client, probe, {});
        const { firstOffset } = await sendOwn(probe, [telemetryItem(probe, 0)]);
        const first = await client.until('the message sent meanwhile', () => received(client)[0]);
        must(first.offset >= firstOffset, () => `the older message ${first.offset}`, client.sent);
      });
    },
  },
  {
    id: 'socket.live',
    says: 'Replay becomes live without a gap or a duplicate',
    source: contractSections.sockets,
    needs: ['socket', 'write'],
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const from = messages[0]!.offset;
      await withClient(probe, async (client) => {
        const replaying = subscribe(client, probe, { offset: String(from) });
        let last = from;
        for (let number = 0; number < 8; number++)
          ({ lastOffset: last } = await sendOwn(probe, [
            telemetryItem(probe, number),
            telemetryItem(probe, number),
          ]));
        await replaying;
        await client.until('the last message sent', () =>
          received(client).find(({ offset }) => offset === last),
        );
        const { messages: stored } = await readToTail(probe, `offset=${from}`);
        await mustBring(client, stored, `from ${from}`);
      });
    },
  },
  {
    id: 'socket.filter',
    says: 'A subscription returns only messages of the table and of devices that the token may read',
    source: contractSections.sockets,
    needs: ['socket', 'write', 'restricted-token'],
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const offset = String(messages[0]!.offset);
      for (const [table, token] of [
        [probe.quietTable, probe.target.token],
        [probe.table, probe.target.restrictedToken],
      ] as const)
        await withClient(
          probe,
          async (client) => {
            await subscribe(client, probe, { offset, table });
            await sleep(QUIET_MS);
            const [seen] = received(client);
            must(seen === undefined, () => `the message ${shorten(seen?.fields)}`, client.sent);
          },
          token,
        );
    },
  },
  {
    id: 'socket.stop',
    says: 'stream:latest:stop ends a subscription, and is answered with the reason client_stop and nextOffset',
    source: contractSections.sockets,
    needs: ['socket', 'write'],
    async check(probe) {
      await ownMessages(probe);
      await withClient(probe, async (client) => {
        const { requestId } = await subscribe(client, probe, {});
        client.emit(socketEvents.stop, { requestId });
        const stop = await client.until(socketEvents.stop, () => client.stops[0]);
        must(
          stop.requestId === requestId && stop.reason === 'client_stop' && stop.nextOffset !== undefined,
          () => shorten(stop),
          client.sent,
        );
        await sendOwn(probe, [telemetryItem(probe, 0)]);
        await sleep(QUIET_MS);
        must(received(client).length === 0, () => 'messages after the end', client.sent);
      });
    },
  },
  {
    id: 'socket.frame-size',
    says: `No frame has more than ${formatCount(limits.frameMessagesMax)} messages or ${limits.frameBytesMax / MEBIBYTE} MiB`,
    source: contractSections.sockets,
    needs: ['socket', 'write', 'slow'],
    async check(probe) {
      const table = `${probe.table}_frames`;
      const text = 'x'.repeat(LARGE.textCharacters);
      for (const data of [{}, { text }]) {
        const items = Array.from({ length: LARGE.messages }, (_, number) =>
          telemetryItem(probe, number, data),
        );
        const { firstOffset, lastOffset } = await sendOwn(probe, items, table);
        await withClient(probe, async (client) => {
          await subscribe(client, probe, { offset: String(firstOffset), table });
          await client.until(
            'the last message',
            () => (last(client) === lastOffset ? true : undefined),
            20_000,
          );
          for (const frame of client.frames) {
            const { length } = frameMessages(client, frame);
            must(length <= limits.frameMessagesMax, () => `${length} messages in a frame`, client.sent);
            must(frame.bytes <= limits.frameBytesMax, () => `a frame of ${frame.bytes} bytes`, client.sent);
          }
        });
      }
    },
  },
  {
    id: 'socket.heartbeat',
    says: `After ${limits.frameIdleMs / SECOND_MS} s without a message, a frame without messages has the current nextOffset`,
    source: contractSections.sockets,
    needs: ['socket', 'slow'],
    check: (probe) =>
      withClient(probe, async (client) => {
        await subscribe(client, probe, { table: probe.quietTable });
        const startedMs = performance.now();
        const frame = await client.until(
          'a frame',
          () => client.frames[0],
          limits.frameIdleMs + 2 * SECOND_MS,
        );
        const tookMs = Math.round(performance.now() - startedMs);
        must(tookMs > limits.frameIdleMs - SECOND_MS, () => `a frame after ${tookMs} ms`, client.sent);
        const { length } = frameMessages(client, frame);
        must(length === 0, () => formatCountOf(length, 'message'), client.sent);
      }),
  },
];

async function subscribe(client: SocketClient, probe: Probe, members: Payload): Promise<Payload> {
  const payload = request({ table: probe.table, ...members });
  const answer = await client.ask(socketEvents.subscribe, payload);
  must(answer.error === undefined, () => shorten(answer), client.sent);
  return payload;
}

function frameMessages(client: SocketClient, frame: Frame): Message[] {
  return batchOfItem(frame.item, client.sent, 0, frame.problem).messages;
}

/** All received messages, in order. */
function received(client: SocketClient): Message[] {
  return client.frames.flatMap((frame) => frameMessages(client, frame));
}

function last(client: SocketClient): bigint | undefined {
  const frame = client.frames.findLast(({ item }) => itemMember(item, 'messages') !== undefined);
  return frame && frameMessages(client, frame).at(-1)?.offset;
}

/**
 * Waits for the expected number of messages and compares them. A duplicate shows, because it takes the place
 * of another message.
 */
async function mustBring(client: SocketClient, expected: readonly Message[], what: string): Promise<void> {
  await client.until(`${expected.length} messages`, () =>
    received(client).length >= expected.length ? true : undefined,
  );
  const lastExpected = expected.at(-1)!.offset;
  const messages = received(client).filter(({ offset }) => offset <= lastExpected);
  mustBeSame({ messages, sent: client.sent }, expected, what);
}
