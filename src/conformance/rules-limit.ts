import { formatCountOf } from '../lib/format-count.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { must } from './breach.ts';
import { contractSections, type Rule } from './rule.ts';
import { sampleOf, sendOwn, telemetryItem } from './sample-messages.ts';
import { batchOf, errorOf, shorten } from './server-answer.ts';

const MESSAGES_MAX = 10_000;
const BYTES_MAX = 8 * MEBIBYTE;
/** Less than any wait for further messages. */
const AT_ONCE_MS = 800;
/** Nine of these requests together exceed the largest answer. */
const LARGE = { requests: 9, messages: 500, textCharacters: 2_000 };

/** Rules on the size of answers. */
export const limitRules: readonly Rule[] = [
  {
    id: 'limit.count',
    says: 'limit is the largest number of messages, and a read that it ends is not up to date',
    source: contractSections.size,
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const { sent, upToDate, ...seen } = batchOf(await probe.read(`offset=${messages[0]!.offset}&limit=2`));
      must(seen.messages.length === 2, () => formatCountOf(seen.messages.length, 'message'), sent);
      must(upToDate === false, () => `upToDate is ${shorten(upToDate)} with more to come`, sent);
    },
  },
  {
    id: 'limit.at-once',
    says: 'A read returns at once at its limit',
    source: contractSections.size,
    timed: true,
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const query = `offset=${messages[0]!.offset}&limit=2`;
      const { tookMs, sent } = batchOf(await probe.read(query, { held: true }));
      must(tookMs < AT_ONCE_MS, () => `an answer after ${Math.round(tookMs)} ms`, sent);
    },
  },
  {
    id: 'limit.above',
    says: 'A limit above 10,000 is served as 10,000',
    source: contractSections.size,
    async check(probe) {
      for (const limit of ['10001', '99999999999999999999']) {
        const { messages, sent } = batchOf(await probe.read(`limit=${limit}`));
        must(messages.length <= MESSAGES_MAX, () => `${messages.length} messages`, sent);
      }
    },
  },
  {
    id: 'limit.invalid',
    says: 'A limit of 0, negative, fractional or text is 400 InvalidLimit',
    source: contractSections.size,
    async check(probe) {
      for (const limit of ['0', '-1', '1.5', 'ten', ''])
        errorOf(await probe.read(`limit=${limit}`), 400, 'InvalidLimit', { parameter: 'limit' });
    },
  },
  {
    id: 'limit.default',
    says: 'Without a limit at most 10,000 messages are returned',
    source: contractSections.size,
    needs: ['write', 'slow'],
    async check(probe) {
      const table = `${probe.table}_many`;
      const items = Array.from({ length: MESSAGES_MAX }, (_, number) => telemetryItem(probe, number));
      const { firstOffset } = await sendOwn(probe, items, table);
      await sendOwn(probe, items.slice(0, 5), table);
      const { messages, upToDate, sent } = batchOf(await probe.read(`offset=${firstOffset}`, { table }));
      must(
        messages.length === MESSAGES_MAX,
        () => `${formatCountOf(messages.length, 'message')} of ${MESSAGES_MAX + 5}`,
        sent,
      );
      must(upToDate === false, () => `upToDate is ${shorten(upToDate)} with more to come`, sent);
    },
  },
  {
    id: 'limit.bytes',
    says: 'A body is at most 8 MiB, and the next read returns the rest',
    source: contractSections.size,
    needs: ['write', 'slow'],
    async check(probe) {
      const table = `${probe.table}_large`;
      const text = 'x'.repeat(LARGE.textCharacters);
      const items = Array.from({ length: LARGE.messages }, (_, number) =>
        telemetryItem(probe, number, { text }),
      );
      const { firstOffset: start } = await sendOwn(probe, items, table);
      for (let request = 1; request < LARGE.requests; request++) await sendOwn(probe, items, table);
      const answer = await probe.read(`offset=${start}`, { table });
      const { messages, nextOffset, sent } = batchOf(answer);
      must(answer.bytes.length <= BYTES_MAX, () => `a body of ${answer.bytes.length} bytes`, sent);
      const rest = batchOf(await probe.read(`offset=${nextOffset}`, { table })).messages.length;
      const all = LARGE.requests * LARGE.messages;
      must(messages.length + rest === all, () => `${messages.length} and ${rest} of ${all} messages`, sent);
    },
  },
];
