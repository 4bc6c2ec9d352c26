import { formatInstant, MINUTE_MS } from '../lib/time.ts';
import { must, NotTestable } from './breach.ts';
import { itemMember } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { mustBeSame, sampleOf } from './sample-messages.ts';
import { type Batch, batchOf, errorOf, shorten } from './server-answer.ts';

const FAR_FUTURE = '2999-01-01T00:00:00Z';

/** Rules on reads from a store time. */
export const timestampRules: readonly Rule[] = [
  {
    id: 'timestamp.first',
    says: 'timestamp starts at the first message with a store_time at or after it',
    source: contractSections.start,
    async check(probe) {
      const { atMs, from } = await boundaryOf(probe);
      for (const ms of [atMs, atMs - 1].filter((each) => each > from.beforeMs)) {
        const seen = batchOf(await probe.read(`timestamp=${ms}&limit=${from.messages.length}`));
        mustBeSame(seen, from.messages, `from ${ms}`);
      }
      const later = from.messages.filter(({ storeTimeMs }) => storeTimeMs > atMs);
      if (later.length === 0) return;
      const seen = batchOf(await probe.read(`timestamp=${atMs + 1}&limit=${later.length}`));
      mustBeSame(seen, later, `from ${atMs + 1}`);
    },
  },
  {
    id: 'timestamp.forms',
    says: 'ISO 8601 with any zone and integer milliseconds mean the same instant',
    source: contractSections.start,
    async check(probe) {
      const { atMs, from } = await boundaryOf(probe);
      const shifted = (minutes: number) => formatInstant(atMs + minutes * MINUTE_MS).slice(0, -1);
      for (const timestamp of [
        formatInstant(atMs),
        `${shifted(120)}%2B02:00`,
        `${shifted(-330)}-05:30`,
        String(atMs),
      ]) {
        const seen = batchOf(await probe.read(`timestamp=${timestamp}&limit=${from.messages.length}`));
        mustBeSame(seen, from.messages, `from ${timestamp}`);
      }
    },
  },
  {
    id: 'timestamp.invalid',
    says: 'A timestamp without a zone, of a day that does not exist, or of another kind is 400 InvalidTimestamp',
    source: contractSections.start,
    async check(probe) {
      for (const timestamp of ['', 'yesterday', '2026-11-20T12:00:00', '2026-02-30T12:00:00Z', '1.5', '-1'])
        errorOf(await probe.read(`timestamp=${timestamp}`), 400, 'InvalidTimestamp', {
          parameter: 'timestamp',
        });
    },
  },
  {
    id: 'timestamp.retention',
    says: 'A timestamp older than the retention starts at the oldest message, with clamped: "retention"',
    source: contractSections.start,
    timed: true,
    async check(probe) {
      await sampleOf(probe);
      const seen = batchOf(await probe.read('timestamp=0&limit=3'));
      must(seen.clamped === 'retention', () => `clamped is ${shorten(seen.clamped)}`, seen.sent);
      mustBeSame(seen, batchOf(await probe.read('limit=3')).messages, 'from 1970');
    },
  },
  {
    id: 'timestamp.future',
    says: 'A timestamp in the future starts at the tail, with clamped: "future"',
    source: contractSections.start,
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const { clamped, sent, ...seen } = batchOf(await probe.read(`timestamp=${FAR_FUTURE}&limit=100`));
      must(clamped === 'future', () => `clamped is ${shorten(clamped)}`, sent);
      const last = messages.at(-1)!.offset;
      const old = seen.messages.find(({ offset }) => offset <= last);
      must(old === undefined, () => `the message ${old?.offset}, which is not new`, sent);
      must(seen.nextOffset > last, () => `nextOffset ${seen.nextOffset} is not the tail`, sent);
    },
  },
  {
    id: 'timestamp.unclamped',
    says: 'clamped is absent if the read starts at the requested timestamp',
    source: contractSections.start,
    async check(probe) {
      const { atMs, from } = await boundaryOf(probe);
      for (const query of [
        'limit=1',
        `timestamp=${atMs}&limit=1`,
        `offset=${from.messages[0]!.offset}&limit=1`,
      ]) {
        const answer = await probe.read(query);
        must(itemMember(answer.item, 'clamped') === undefined, () => 'clamped is there', answer.sent);
      }
    },
  },
];

interface Boundary {
  /** The store time of the first of `from.messages`. The message before it has an earlier one. */
  atMs: number;
  from: Pick<Batch, 'messages'> & { beforeMs: number };
}

async function boundaryOf(probe: Probe): Promise<Boundary> {
  const { messages } = await sampleOf(probe);
  const index = messages.findIndex(
    ({ storeTimeMs }, each) => each > 0 && storeTimeMs > messages[each - 1]!.storeTimeMs,
  );
  if (index === -1) throw new NotTestable('all messages of the sample have one store_time');
  return {
    atMs: messages[index]!.storeTimeMs,
    from: { messages: messages.slice(index), beforeMs: messages[index - 1]!.storeTimeMs },
  };
}
