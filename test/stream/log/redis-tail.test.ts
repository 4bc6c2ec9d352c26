import { expect, test } from 'vitest';
import { type Offset, offsetOf } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { entryIdOf, type KnownTail, readLogHead } from '../../../src/stream/log/redis/redis-replies.ts';
import { createRedisTail } from '../../../src/stream/log/redis/redis-tail.ts';

const SENDER = 'me';
const at = (ms: number, sequence = 0): Offset => offsetOf(ms) + BigInt(sequence);
const head: KnownTail = {
  epoch: 'first',
  generation: 1,
  lastOffset: at(1_000, 4),
  nextOrdinal: 5,
  trimmedThrough: undefined,
};

/** What a process knows of a log with five messages, and what its listener was told since then. */
function setUp() {
  const tail = createRedisTail({ workgroupId: 'home', sender: SENDER, logger: silentLogger });
  tail.learn(head);
  const told: string[] = [];
  tail.listen({
    onMoved: () => told.push('moved'),
    onRecreated: () => told.push('recreated'),
    onDoubt: () => told.push('doubt'),
  });
  return { tail, told };
}

/** The news of two messages that another process has appended, with the members that differ. */
function news(
  members: Partial<Record<'from' | 'epoch' | 'before' | 'count' | 'last' | 'ordinal', string>> = {},
) {
  const { from, epoch, before, count, last, ordinal } = {
    from: 'other',
    epoch: 'first',
    before: entryIdOf(at(1_000, 4)),
    count: '5',
    last: entryIdOf(at(2_000, 1)),
    ordinal: '7',
    ...members,
  };
  return `${from} ${epoch} ${before} ${count} ${last} ${ordinal}`;
}

test('news that continue what is known move the end', () => {
  const { tail, told } = setUp();
  tail.takeNews(news());
  expect(tail.known).toEqual({ ...head, lastOffset: at(2_000, 1), nextOrdinal: 7 });
  expect(told).toEqual(['moved']);
});

test.each([
  ['of this process itself', news({ from: SENDER })],
  ['that are already known', news({ before: entryIdOf(at(900)), count: '3', last: entryIdOf(at(1_000, 4)) })],
])('news %s change nothing', (_, text) => {
  const { tail, told } = setUp();
  tail.takeNews(text);
  expect(tail.known).toEqual(head);
  expect(told).toEqual([]);
});

test.each([
  ['follow news that were lost', news({ before: entryIdOf(at(1_500)) })],
  ['count other messages before them', news({ count: '6' })],
  ['are of another log', news({ epoch: 'second' })],
  ['are of another log, and end before the end of this one', news({ epoch: 'second', last: '1-0' })],
  ['are not readable', 'nonsense'],
])('after news that %s, Redis must be asked', (_, text) => {
  const { tail, told } = setUp();
  tail.takeNews(text);
  expect(tail.known).toEqual(head);
  expect(told).toEqual(['doubt']);
});

test.each<[answer: string, members: Partial<KnownTail>, told: string[]]>([
  ['with the same end', {}, []],
  ['that is older than the news', { lastOffset: at(900), nextOrdinal: 3 }, []],
  ['with a later end', { lastOffset: at(3_000), nextOrdinal: 9 }, ['moved']],
  ['of a log that was trimmed', { trimmedThrough: at(1_000, 2) }, []],
  ['of another log', { epoch: 'second', generation: 2, lastOffset: at(500), nextOrdinal: 1 }, ['recreated']],
])('an answer of Redis %s', (_, members, expected) => {
  const { tail, told } = setUp();
  const answer = { ...head, ...members };
  tail.learn(answer);
  const isOlder = answer.epoch === head.epoch && answer.nextOrdinal < head.nextOrdinal;
  expect(tail.known).toEqual(isOlder ? head : answer);
  expect(told).toEqual(expected);
});

const fieldsOf = ({ epoch, generation, lastOffset, trimmedThrough, nextOrdinal }: KnownTail, format = 1) =>
  [
    epoch,
    generation,
    entryIdOf(lastOffset!),
    trimmedThrough === undefined ? '-1-0' : entryIdOf(trimmedThrough),
    nextOrdinal,
    format,
  ].map((field) => Buffer.from(String(field)));

test.each<[head: string, fields: Buffer[] | null, asked: KnownTail, continues: boolean]>([
  ['with the end that was known', fieldsOf(head), head, true],
  ['with a later end', fieldsOf({ ...head, lastOffset: at(2_000), nextOrdinal: 6 }), head, true],
  ['with an earlier end than when it was asked', fieldsOf(head), { ...head, lastOffset: at(1_500) }, false],
  ['of another log', fieldsOf({ ...head, epoch: 'second' }), head, false],
  ['of a log that Redis has not', null, head, false],
])(
  'an answer for a part of the log counts only if it is of the same log: %s',
  (_, fields, asked, continues) => {
    expect(setUp().tail.continues(fields, asked)).toBe(continues);
  },
);

test('a head of Redis is read, and a head of another format is refused', () => {
  const trimmed = { ...head, trimmedThrough: at(1_000, 2) };
  expect(readLogHead(fieldsOf(trimmed))).toEqual(trimmed);
  expect(readLogHead(fieldsOf(head))).toEqual(head);
  for (const format of [0, 2])
    expect(() => readLogHead(fieldsOf(head, format))).toThrow(
      expect.objectContaining({ code: 'UnknownFormat' }),
    );
});
