import { formatCountOf } from '../lib/format-count.ts';
import { must, NotTestable } from './breach.ts';
import { itemMember } from './cbor-item.ts';
import { contractSections, type Rule } from './rule.ts';
import { middleOf, mustBeSame, readToTail, sampleOf } from './sample-messages.ts';
import { batchOf, errorOf, integerOf, shorten } from './server-answer.ts';

const PAGE = 2;
const OFFSET_MAX = 2n ** 64n - 1n;

/** Rules on the start of a read and on the next position. */
export const positionRules: readonly Rule[] = [
  {
    id: 'start.oldest',
    says: 'Without parameters a read starts at the oldest retained message',
    source: contractSections.start,
    timed: true,
    async check(probe) {
      await sampleOf(probe);
      const oldest = await probe.read('limit=1');
      const earliest = integerOf(itemMember(oldest.item, 'earliestOffset'));
      const sent = await probe.read(`offset=${earliest}&limit=1`);
      mustBeSame(batchOf(oldest), batchOf(sent).messages, `read from earliestOffset ${earliest}`);
    },
  },
  {
    id: 'offset.inclusive',
    says: 'offset is inclusive: the message at this offset is the first',
    source: contractSections.start,
    async check(probe) {
      const { message } = await middleOf(probe);
      mustBeSame(batchOf(await probe.read(`offset=${message.offset}&limit=1`)), [message], 'at an offset');
    },
  },
  {
    id: 'offset.exact',
    says: "One past a message's offset, the next message is the first",
    source: contractSections.start,
    async check(probe) {
      const { message, next } = await middleOf(probe);
      const seen = batchOf(await probe.read(`offset=${message.offset + 1n}&limit=1`));
      mustBeSame(seen, [next], 'one past an offset');
    },
  },
  {
    id: 'offset.pages',
    says: 'nextOffset, sent back, yields later messages without gaps or duplicates',
    source: contractSections.answer,
    async check(probe) {
      const { messages } = await sampleOf(probe);
      let position = messages[0]!.offset;
      for (let index = 0; index < messages.length; index += PAGE) {
        const expected = messages.slice(index, index + PAGE);
        const page = batchOf(await probe.read(`offset=${position}&limit=${expected.length}`));
        mustBeSame(page, expected, `page from ${position}`);
        position = page.nextOffset;
      }
    },
  },
  {
    id: 'offset.at-the-tail',
    says: 'nextOffset of a read that is up to date is a position to read from',
    source: contractSections.answer,
    async check(probe) {
      const { nextOffset } = await readToTail(probe, '', { table: probe.quietTable });
      const again = batchOf(await probe.read(`offset=${nextOffset}`, { table: probe.quietTable }));
      must(
        again.nextOffset >= nextOffset,
        () => `nextOffset goes back from ${nextOffset} to ${again.nextOffset}`,
        again.sent,
      );
    },
  },
  {
    id: 'offset.over-timestamp',
    says: 'offset takes precedence over timestamp',
    source: contractSections.start,
    async check(probe) {
      const { message } = await middleOf(probe);
      for (const timestamp of ['2999-01-01T00:00:00Z', '0']) {
        const answer = await probe.read(`offset=${message.offset}&timestamp=${timestamp}&limit=1`);
        mustBeSame(batchOf(answer), [message], 'with both');
      }
    },
  },
  {
    id: 'offset.filtered-tail',
    says: 'nextOffset is past the last message that was scanned, filtered ones included',
    source: contractSections.answer,
    async check(probe) {
      const { messages } = await sampleOf(probe);
      const last = messages.at(-1)!.offset;
      const { nextOffset, sent } = await readToTail(probe, `offset=${messages[0]!.offset}`, {
        table: probe.quietTable,
      });
      must(
        nextOffset > last,
        () => `nextOffset ${nextOffset} though there is a message ${last} elsewhere`,
        sent,
      );
    },
  },
  {
    id: 'offset.invalid',
    says: 'An offset that is empty, signed, with a comma or a space, or beyond 64 bits is 400 InvalidOffset',
    source: contractSections.start,
    async check(probe) {
      for (const offset of ['', '-1', '%2B1', '1,2', '%201', '1%20', '1.5', 'abc', '18446744073709551616'])
        errorOf(await probe.read(`offset=${offset}`), 400, 'InvalidOffset', { parameter: 'offset' });
    },
  },
  {
    id: 'offset.repeated',
    says: 'A repeated offset is 400 InvalidOffset',
    source: contractSections.start,
    async check(probe) {
      errorOf(await probe.read('offset=1&offset=1'), 400, 'InvalidOffset', { parameter: 'offset' });
    },
  },
  {
    id: 'offset.ahead',
    says: 'An offset past the tail is 416 OffsetAhead with nextOffset and epoch, not a wait',
    source: contractSections.start,
    async check(probe) {
      const answer = await probe.read(`offset=${OFFSET_MAX}`);
      const { nextOffset, epoch } = errorOf(answer, 416, 'OffsetAhead');
      const tail = await readToTail(probe, '', { table: probe.quietTable });
      must(typeof epoch === 'string', () => `epoch is ${shorten(epoch)}`, answer.sent);
      const named = integerOf(itemMember(answer.item, 'nextOffset'));
      must(
        named !== undefined && named <= tail.nextOffset,
        () => `nextOffset is ${shorten(nextOffset)}`,
        answer.sent,
      );
    },
  },
  {
    id: 'offset.expired',
    says: 'An offset whose messages are gone is 410 OffsetExpired with earliestOffset, nextOffset and epoch',
    source: contractSections.start,
    async check(probe) {
      const answer = await probe.read('offset=0&limit=1');
      if (answer.status === 200) throw new NotTestable('no message is gone yet: offset=0 is answered');
      errorOf(answer, 410, 'OffsetExpired');
      for (const name of ['earliestOffset', 'nextOffset'])
        must(itemMember(answer.item, name)?.type === 'integer', () => `no ${name}`, answer.sent);
      must(itemMember(answer.item, 'epoch')?.type === 'text', () => 'no epoch', answer.sent);
    },
  },
  {
    id: 'table.empty',
    says: 'A table without messages is an empty 200, up to date',
    source: contractSections.tables,
    async check(probe) {
      const { messages, upToDate, sent } = await readToTail(probe, '', { table: probe.quietTable });
      must(messages.length === 0, () => formatCountOf(messages.length, 'message'), sent);
      must(upToDate === true, () => `upToDate is ${shorten(upToDate)}`, sent);
    },
  },
  {
    id: 'table.wildcard',
    says: 'The table - reads all tables in one order',
    source: contractSections.tables,
    async check(probe) {
      const sample = await sampleOf(probe);
      const answer = await probe.read(`offset=${sample.messages[0]!.offset}`, { table: '-' });
      if (answer.status === 403) throw new NotTestable('the token may not read it (org:audit)');
      const all = batchOf(answer);
      const last = all.messages.at(-1)?.offset ?? 0n;
      const seen = new Set(all.messages.map(({ offset }) => offset));
      const missing = sample.messages.find(({ offset }) => offset <= last && !seen.has(offset));
      must(
        missing === undefined,
        () => `message ${missing?.offset} of ${probe.table} is not among all`,
        all.sent,
      );
      must(last >= sample.messages[0]!.offset, () => 'no messages', all.sent);
    },
  },
  {
    id: 'parameters.unknown',
    says: 'Unknown parameters are ignored',
    source: contractSections.start,
    async check(probe) {
      const { message } = await middleOf(probe);
      const answer = await probe.read(`colour=blue&offset=${message.offset}&limit=1&Limit=x`);
      mustBeSame(batchOf(answer), [message], 'with parameters that nobody knows');
    },
  },
];
