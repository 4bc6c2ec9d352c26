import { isDeepStrictEqual } from 'node:util';
import { MEBIBYTE } from '../lib/units.ts';
import { must } from './breach.ts';
import { itemMember } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { readToTail, sendOwn, telemetryItem } from './sample-messages.ts';
import { type Batch, batchOf, describeAnswer, errorOf, integerOf, shorten } from './server-answer.ts';

const ITEMS_MAX = 10_000;
const BYTES_MAX = 8 * MEBIBYTE;

/** Values of all kinds that a field may have. */
const everyValue = {
  integer: 42,
  negative: -7,
  float: 0.1,
  zero: 0,
  text: 'Grüße, 世界 \u{1f31e}',
  empty: '',
  yes: true,
  no: false,
  nothing: null,
};

/** Rules on sending messages. */
export const ingestRules: readonly Rule[] = [
  {
    id: 'ingest.cbor',
    says: 'CBOR is accepted, answered with { accepted, firstOffset, lastOffset }, and comes back as it was sent',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const items = [
        telemetryItem(probe, 1, {
          ...everyValue,
          largest: 2n ** 64n - 1n,
          least: -(2n ** 63n),
          beyond: 2n ** 53n,
        }),
        { ...telemetryItem(probe, 2), source: null },
      ];
      const answer = await probe.send(items);
      must(answer.status === 200, () => describeAnswer(answer), answer.sent);
      must(
        integerOf(itemMember(answer.item, 'accepted')) === 2n,
        () => `accepted is ${shorten(integerOf(itemMember(answer.item, 'accepted')))}`,
        answer.sent,
      );
      await mustComeBack(probe, integerOf(itemMember(answer.item, 'firstOffset')), items);
    },
  },
  {
    id: 'ingest.integers',
    says: 'Integers stay integers and floats floats, up to 64 bits',
    source: contractSections.cbor,
    needs: ['write'],
    async check(probe) {
      const { firstOffset } = await sendOwn(probe, [
        telemetryItem(probe, 1, { whole: 1_000_000, largest: 2n ** 64n - 1n, part: 0.5 }),
      ]);
      const answer = await probe.read(`offset=${firstOffset}&limit=1`);
      const messages = itemMember(answer.item, 'messages');
      const data = itemMember(messages?.type === 'array' ? messages.items[0] : undefined, 'data');
      for (const [name, type] of [
        ['whole', 'integer'],
        ['largest', 'integer'],
        ['part', 'float'],
      ] as const) {
        const seen = itemMember(data, name)?.type ?? 'absent';
        must(seen === type, () => `data.${name} is ${seen}, not ${type}`, answer.sent);
      }
    },
  },
  {
    id: 'ingest.json',
    says: 'A JSON array is accepted and comes back as it was sent',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const items = [telemetryItem(probe, 1, everyValue), telemetryItem(probe, 2)];
      await mustTake(probe, 'application/json', JSON.stringify(items), items);
    },
  },
  {
    id: 'ingest.ndjson',
    says: 'NDJSON is accepted and comes back as it was sent',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const items = [telemetryItem(probe, 1, everyValue), telemetryItem(probe, 2)];
      const lines = items.map((item) => `${JSON.stringify(item)}\n`).join('');
      await mustTake(probe, 'application/x-ndjson', lines, items);
    },
  },
  {
    id: 'ingest.offsets',
    says: 'firstOffset and lastOffset are the offsets of the messages; a later request gets greater ones',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const items = [1, 2, 3].map((number) => telemetryItem(probe, number));
      const first = await sendOwn(probe, items);
      const second = await sendOwn(probe, items);
      const seen = batchOf(await probe.read(`offset=${first.firstOffset}&limit=6`));
      const offsets = seen.messages.map(({ offset }) => offset);
      must(
        isDeepStrictEqual(
          [offsets[0], offsets[2], offsets[3], offsets[5]],
          [first.firstOffset, first.lastOffset, second.firstOffset, second.lastOffset],
        ),
        () => `messages ${offsets.join(', ')} for ${shorten([first, second])}`,
        seen.sent,
      );
    },
  },
  {
    id: 'ingest.all-or-nothing',
    says: 'A request with a bad item is 400 InvalidRequest and stores none',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const before = await tailOf(probe);
      const answer = await probe.send([
        telemetryItem(probe, 1),
        { ...telemetryItem(probe, 2), device: 'none' },
      ]);
      errorOf(answer, 400, 'InvalidRequest');
      const { messages, sent } = batchOf(await probe.read(`offset=${before}`));
      must(messages.length === 0, () => `${messages.length} of the messages are stored`, sent);
    },
  },
  {
    id: 'ingest.bad-items',
    says: 'Every bad item is listed with index, field and reason',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const good = telemetryItem(probe, 1);
      const answer = await probe.send([
        { ...good, device: 'none' },
        good,
        { ...good, event_time: 'noon' },
        { ...good, data: 7 },
      ]);
      const { items } = errorOf(answer, 400, 'InvalidRequest');
      const listed = (Array.isArray(items) ? items : []) as Array<Record<string, unknown>>;
      const places = listed.map(({ index, field }) => `${index} ${field}`).sort();
      must(
        isDeepStrictEqual(places, ['0 device', '2 event_time', '3 data']) &&
          listed.every(({ reason }) => typeof reason === 'string'),
        () => `items: ${shorten(items)}`,
        answer.sent,
      );
    },
  },
  {
    id: 'ingest.malformed',
    says: 'A body that is malformed, or no array, is 400 InvalidRequest',
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      for (const [type, body] of [
        ['application/cbor', Buffer.from('9f01', 'hex')],
        ['application/cbor', Buffer.from('a0', 'hex')],
        ['application/json', '[{"device":'],
        ['application/json', '{}'],
        ['application/x-ndjson', '{"device"\n'],
      ] as const)
        errorOf(await probe.send({ type, body }), 400, 'InvalidRequest');
    },
  },
  {
    id: 'ingest.items-max',
    says: `More than ${ITEMS_MAX} items are 413, and none is stored`,
    source: contractSections.ingest,
    needs: ['write'],
    async check(probe) {
      const before = await tailOf(probe);
      const answer = await probe.send(Array(ITEMS_MAX + 1).fill(telemetryItem(probe, 1)));
      must(answer.status === 413, () => `${describeAnswer(answer)} instead of 413`, answer.sent);
      const { messages, sent } = batchOf(await probe.read(`offset=${before}&limit=1`));
      must(messages.length === 0, () => 'messages are stored', sent);
    },
  },
  {
    id: 'ingest.bytes-max',
    says: 'More than 8 MiB are 413',
    source: contractSections.ingest,
    needs: ['write', 'slow'],
    async check(probe) {
      const body = Buffer.alloc(BYTES_MAX + 1, ' ');
      const answer = await probe.send({ type: 'application/json', body });
      must(answer.status === 413, () => `${describeAnswer(answer)} instead of 413`, answer.sent);
    },
  },
];

async function mustTake(probe: Probe, type: string, body: string, items: object[]): Promise<void> {
  const answer = await probe.send({ type, body });
  must(answer.status === 200, () => describeAnswer(answer), answer.sent);
  await mustComeBack(probe, integerOf(itemMember(answer.item, 'firstOffset')), items);
}

async function mustComeBack(probe: Probe, from: bigint | undefined, items: object[]): Promise<void> {
  const seen: Batch = batchOf(await probe.read(`offset=${from}&limit=${items.length}`));
  for (const [index, item] of items.entries()) {
    const { offset: _, store_time: __, table, kind, ...fields } = seen.messages[index]?.fields ?? {};
    must(
      isDeepStrictEqual(fields, item) && table === probe.table && kind === 'telemetry',
      () => `${shorten(seen.messages[index]?.fields)} instead of ${shorten(item)}`,
      seen.sent,
    );
  }
}

/** An offset at or before the next message of the probe's table. */
async function tailOf(probe: Probe): Promise<bigint> {
  return (await readToTail(probe, '', { table: probe.quietTable })).nextOffset;
}
