import { formatCountOf } from '../lib/format-count.ts';
import { Breach, must, NotTestable } from './breach.ts';
import { type Item, itemMember, itemsOf, plain } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { sampleOf } from './sample-messages.ts';
import { batchOf, describeAnswer, integerOf, shorten } from './server-answer.ts';

/** Rules on the form of a successful read. */
export const answerRules: readonly Rule[] = [
  {
    id: 'answer.content-type',
    says: 'A read is answered as application/cbor',
    source: contractSections.answer,
    async check(probe) {
      const answer = await plainRead(probe);
      const type = answer.header('content-type') ?? 'none';
      must(
        type.split(';')[0]!.trim().toLowerCase() === 'application/cbor',
        () => `Content-Type ${type}`,
        answer.sent,
      );
    },
  },
  {
    id: 'answer.map',
    says: 'The body is one map: messages, nextOffset, count, upToDate, earliestOffset, epoch, clamped?',
    source: contractSections.answer,
    async check(probe) {
      const { item, sent } = await plainRead(probe);
      must(item?.type === 'map', () => `a ${item?.type ?? 'body that is not CBOR'} instead of a map`, sent);
      const wrong = Object.entries(answerMembers).flatMap(([name, types]) => {
        const type = itemMember(item, name)?.type ?? 'absent';
        return types.includes(type) ? [] : [`${name} is ${type}, not ${types[0]}`];
      });
      const upToDate = itemMember(item, 'upToDate');
      if (upToDate?.type === 'simple' && typeof upToDate.value !== 'boolean')
        wrong.push('upToDate is not a boolean');
      must(wrong.length === 0, () => wrong.join(', '), sent);
    },
  },
  {
    id: 'answer.definite-map',
    says: 'The body is of definite length, and so is every map in it',
    source: contractSections.cbor,
    check: (probe) =>
      everyItem(probe, (item) =>
        item.type === 'map' && item.indefinite
          ? `a map of indefinite length: ${shorten(plain(item))}`
          : undefined,
      ),
  },
  {
    id: 'answer.plain-cbor',
    says: 'Plain CBOR: no tags, and each key is text and appears once',
    source: contractSections.cbor,
    check: (probe) => everyItem(probe, unplain),
  },
  {
    id: 'answer.integers',
    says: 'Offsets, counts and times are integers',
    source: contractSections.cbor,
    async check(probe) {
      const { item, sent } = await sampleRead(probe);
      const wrong = (of: Item, names: readonly string[]) =>
        names.find((name) => !['integer', undefined].includes(itemMember(of, name)?.type));
      must(item !== undefined, () => 'no CBOR', sent);
      for (const [of, names] of [
        [item, ['nextOffset', 'earliestOffset', 'count']] as const,
        ...itemsOf(itemMember(item, 'messages')).map(
          (message) => [message, ['offset', 'store_time', 'event_time', 'msg_id']] as const,
        ),
      ]) {
        const name = wrong(of, names);
        if (name !== undefined)
          throw new Breach(`${name} is a ${itemMember(of, name)?.type}, not an integer`, sent);
      }
    },
  },
  {
    id: 'answer.count',
    says: 'count is the number of messages',
    source: contractSections.answer,
    async check(probe) {
      const answer = await sampleRead(probe);
      const count = integerOf(itemMember(answer.item, 'count'));
      const { length } = batchOf(answer).messages;
      must(
        count === BigInt(length),
        () => `count ${count} with ${formatCountOf(length, 'message')}`,
        answer.sent,
      );
    },
  },
  {
    id: 'answer.headers',
    says: 'Stream-Next-Offset and Stream-Up-To-Date have the values of the body',
    source: contractSections.answer,
    async check(probe) {
      const answer = await plainRead(probe);
      const { nextOffset, upToDate } = batchOf(answer);
      const header = `${answer.header('stream-next-offset')} and ${answer.header('stream-up-to-date')}`;
      must(
        header === `${nextOffset} and ${upToDate}`,
        () => `${header} with ${nextOffset} and ${upToDate}`,
        answer.sent,
      );
    },
  },
  {
    id: 'answer.not-cached',
    says: 'Cache-Control: no-store, Vary: Authorization, X-Content-Type-Options: nosniff',
    source: contractSections.answer,
    async check(probe) {
      const answer = await plainRead(probe);
      for (const [name, value] of [
        ['cache-control', 'no-store'],
        ['vary', 'authorization'],
        ['x-content-type-options', 'nosniff'],
      ] as const) {
        const seen = answer.header(name);
        must(words(seen).includes(value), () => `${name}: ${seen ?? 'absent'}`, answer.sent);
      }
    },
  },
  {
    id: 'answer.epoch',
    says: 'epoch is the same in all answers of a log, for every table',
    source: contractSections.answer,
    async check(probe) {
      const first = await plainRead(probe);
      const second = await probe.read('limit=1', { table: probe.quietTable });
      const epochs = [first, second].map(({ item }) => itemMember(item, 'epoch'));
      const [one, other] = epochs.map((item) => (item?.type === 'text' ? item.value : ''));
      must(one !== '' && one === other, () => `epochs ${shorten(one)} and ${shorten(other)}`, second.sent);
    },
  },
  {
    id: 'answer.bounds',
    says: 'earliestOffset is at or before the first message, nextOffset past the last',
    source: contractSections.answer,
    async check(probe) {
      const answer = await sampleRead(probe);
      const { messages, nextOffset } = batchOf(answer);
      const earliest = integerOf(itemMember(answer.item, 'earliestOffset'));
      must(earliest !== undefined, () => 'no earliestOffset', answer.sent);
      const [first, last] = [messages[0], messages.at(-1)];
      if (first === undefined || last === undefined) throw new NotTestable('no messages are left');
      must(
        earliest <= first.offset,
        () => `earliestOffset ${earliest} after the first, ${first.offset}`,
        answer.sent,
      );
      must(
        nextOffset > last.offset,
        () => `nextOffset ${nextOffset} with a last message ${last.offset}`,
        answer.sent,
      );
    },
  },
];

const answerMembers: Readonly<Record<string, readonly string[]>> = {
  messages: ['array'],
  nextOffset: ['integer', 'float'],
  count: ['integer', 'float'],
  upToDate: ['simple'],
  earliestOffset: ['integer', 'float'],
  epoch: ['text'],
  clamped: ['text', 'absent'],
};

async function plainRead(probe: Probe) {
  const answer = await probe.read('limit=20');
  must(answer.status === 200, () => describeAnswer(answer), answer.sent);
  return answer;
}

/** Reads the sample. */
async function sampleRead(probe: Probe) {
  const { messages } = await sampleOf(probe);
  return probe.read(`offset=${messages[0]!.offset}&limit=${messages.length}`);
}

async function everyItem(probe: Probe, problemOf: (item: Item) => string | undefined): Promise<void> {
  const { item, problem, sent } = await plainRead(probe);
  must(item !== undefined, () => `a body that is not CBOR: ${problem}`, sent);
  for (const each of allItems(item)) {
    const found = problemOf(each);
    if (found !== undefined) throw new Breach(found, sent);
  }
}

function* allItems(item: Item): Generator<Item> {
  yield item;
  if (item.type === 'tag') yield* allItems(item.item);
  if (item.type === 'array') for (const each of item.items) yield* allItems(each);
  if (item.type === 'map') for (const pair of item.members) for (const each of pair) yield* allItems(each);
}

function unplain(item: Item): string | undefined {
  if (item.type === 'tag') return `tag ${item.tag} on ${shorten(plain(item))}`;
  if (item.type !== 'map') return undefined;
  const keys = item.members.map(([key]) => key);
  const other = keys.find(({ type }) => type !== 'text');
  if (other !== undefined) return `a key that is ${other.type}: ${shorten(plain(other))}`;
  const names = keys.map(plain);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? undefined : `the key ${shorten(twice)} twice in one map`;
}

function words(header: string | undefined): string[] {
  return (header ?? '').split(',').map((word) => word.trim().toLowerCase());
}
