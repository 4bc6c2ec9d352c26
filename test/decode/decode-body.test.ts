import { describe, expect, it } from 'vitest';
import { encodeCbor, MalformedError } from '../../src/cbor/cbor-codec.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { offsetAfter } from '../../src/decode/columns-buffer.ts';
import { bodyFromRoots, MESSAGES_PER_BODY_MAX } from '../../src/decode/decode-body.ts';
import { createMessageDecoder, type DecodedBody } from '../../src/decode/message-decoder.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { jsonText } from '../../src/lib/json-text.ts';
import { columnMessages } from './column-messages.ts';

const DEVICE = '0f8fad5b-d9cb-469f-a165-70867728950e';
const message = (offset: number | bigint | string, more: object = {}) => ({
  offset,
  table: 'solar',
  device: DEVICE,
  event_time: 5,
  store_time: 6,
  data: { power: 1.5 },
  ...more,
});
const empty = {
  nextOffset: undefined,
  earliestOffset: undefined,
  upToDate: undefined,
  epoch: undefined,
  clamped: undefined,
  requestId: undefined,
};

/** Decodes the same body in every format that the client reads. All results must be equal. */
function everyWay(...roots: unknown[]): { body: DecodedBody; offsets: bigint[]; rejected: number } {
  const forms: Record<string, Uint8Array> = {
    cbor: Buffer.concat(roots.map(encodeCbor)),
    'cbor of indefinite length': Buffer.concat(roots.map((root) => indefinite(root))),
    'self-described cbor': Buffer.concat(
      roots.flatMap((root) => [Buffer.from('d9d9f7', 'hex'), encodeCbor(root)]),
    ),
    json: Buffer.from(`\ufeff \n${roots.map(jsonText).join('\n')}\n`),
  };
  const seen = Object.entries(forms).map(([form, bytes]) => {
    const names = createNameTable();
    const { kind, ...body } = createMessageDecoder(names).decode(bytes);
    const columns = 'columns' in body ? body.columns : undefined;
    const messages = columns ? columnMessages(columns, names) : [];
    const facts = { ...body, kind, columns: undefined, members: undefined };
    return { form, body, facts: { ...facts, messages, rejected: columns?.rejected.length }, kind };
  });
  const [first, ...others] = seen;
  for (const other of others) expect(other.facts, other.form).toStrictEqual(first!.facts);
  return {
    body: { kind: first!.kind, ...first!.body } as DecodedBody,
    offsets: first!.facts.messages.map(({ offset }) => offset),
    rejected: first!.facts.rejected ?? 0,
  };
}

/** A map or array of indefinite length. */
function indefinite(value: unknown): Buffer {
  if (Array.isArray(value))
    return Buffer.concat([Buffer.from([0x9f]), ...value.map(indefinite), Buffer.from([0xff])]);
  if (typeof value !== 'object' || value === null) return Buffer.from(encodeCbor(value));
  const members = Object.entries(value).flatMap(([key, member]) => [encodeCbor(key), indefinite(member)]);
  return Buffer.concat([Buffer.from([0xbf]), ...members, Buffer.from([0xff])]);
}

describe('an answer', () => {
  it('is read in the form of our server', () => {
    const facts = {
      nextOffset: 2n ** 60n,
      earliestOffset: 1n,
      upToDate: true,
      epoch: 'e1',
      clamped: 'future',
      requestId: 'r1',
    };
    const { body, offsets } = everyWay({
      messages: [message(7), message(2n ** 60n - 1n)],
      count: 2,
      ...facts,
    });
    expect(body).toMatchObject({ kind: 'batch', ...facts });
    expect(offsets).toStrictEqual([7n, 2n ** 60n - 1n]);
  });

  it.each(['messages', 'records', 'data', 'results', 'rows', 'items'])('has its messages under %s', (key) => {
    expect(
      everyWay({ more: { a: [1] }, [key]: [message(1), message('2')], status: 200 }).offsets,
    ).toStrictEqual([1n, 2n]);
  });

  it('may have its messages in a root array', () => {
    expect(everyWay([message(1), message(2)])).toMatchObject({ offsets: [1n, 2n], body: empty });
  });

  it('has the first of two lists as its messages, in any order of members', () => {
    expect(everyWay({ items: [message(9), 5], records: [message(1)], data: [message(3)] })).toMatchObject({
      offsets: [1n],
      rejected: 0,
    });
    expect(everyWay({ messages: [message(1)], items: [message(9)] }).offsets).toStrictEqual([1n]);
    // Fields that are no numbers are kept beside the columns, by the rows of their messages.
    const { body } = everyWay({
      items: [message(9, { data: { note: 'of another' } })],
      records: [message(1)],
    });
    expect(body.kind === 'batch' && [body.columns.count, body.columns.other.size]).toEqual([1, 0]);
  });

  it.each<[key: string, value: unknown]>([
    ['nextOffset', 9],
    ['next_offset', '9'],
    ['cursor', 9],
    ['offset', '9'],
  ])('says the next position as %s', (key, value) => {
    expect(everyWay({ messages: [], [key]: value }).body.nextOffset).toBe(9n);
    expect(everyWay({ [key]: value }).body).toMatchObject({ kind: 'batch', nextOffset: 9n });
  });

  it('has its next position under one of several names, and none with a cursor that is no number', () => {
    expect(everyWay({ messages: [], offset: 1, cursor: 2, nextOffset: 3 }).body.nextOffset).toBe(3n);
    expect(everyWay({ messages: [], cursor: 'b3BhcXVl' }).body.nextOffset).toBeUndefined();
    expect(everyWay({ messages: [], nextOffset: null, cursor: 2 }).body.nextOffset).toBe(2n);
  });

  it('is malformed as JSON if it is nested more than 16 levels deep', () => {
    const nested = (levels: number) => Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    const decoder = createMessageDecoder(createNameTable());
    expect(decoder.decode(nested(16)).kind).toBe('batch');
    expect(() => decoder.decode(nested(17))).toThrow('nested more than 16 levels deep');
  });

  it('is malformed if the next position has lost digits', () => {
    const decoder = createMessageDecoder(createNameTable());
    const lossy = Buffer.from(encodeCbor({ messages: [], nextOffset: 2 ** 60 }));
    expect(() => decoder.decode(lossy)).toThrow(/nextOffset is not an offset/);
    expect(() => decoder.decode(Buffer.from('{"messages":[],"nextOffset":1e18}'))).toThrow(MalformedError);
  });

  it('may be a sequence of messages, with answers in between', () => {
    const roots = [
      message(1),
      message(2),
      { nextOffset: 3, messages: [message(3)] },
      [message(4)],
      { nextOffset: 5 },
    ];
    expect(everyWay(...roots)).toMatchObject({ offsets: [1n, 2n, 3n, 4n], body: { nextOffset: 5n } });
    expect(everyWay(message(1))).toMatchObject({ offsets: [1n], body: empty });
  });

  it('rejects other items of a sequence', () => {
    expect(everyWay(message(1), { status: 'ok' }, message(2))).toMatchObject({
      offsets: [1n, 2n],
      rejected: 1,
    });
  });

  it('may be empty', () => {
    expect(createMessageDecoder(createNameTable()).decode(new Uint8Array())).toMatchObject({
      kind: 'batch',
      ...empty,
    });
  });

  it.each<[what: string, body: string]>([
    ['a page of HTML', '<!doctype html><html><body>Bad Gateway</body></html>'],
    ['JSON of something else', '{"status":"ok"}'],
    ['JSON that breaks off', '{"messages":[{"offset":1'],
    ['JSON lines that break off', '{"offset":1}\n{"offs'],
    ['JSON nested too deep', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['text', 'upstream connect error'],
  ])('is malformed where it is %s', (_, body) => {
    expect(() => createMessageDecoder(createNameTable()).decode(Buffer.from(body))).toThrow(MalformedError);
  });

  it('is malformed if it is other CBOR', () => {
    const decoder = createMessageDecoder(createNameTable());
    for (const value of [{ status: 'ok' }, 5, 'text', null]) {
      expect(() => decoder.decode(Buffer.from(encodeCbor(value)))).toThrow(/an answer without messages/);
    }
    expect(() => decoder.decode(Buffer.from('a2686d65737361676573806a6d6573736167657380', 'hex'))).toThrow(
      MalformedError,
    );
    expect(() => decoder.decode(Buffer.from('a2686d6573736167657380686d6573736167657380', 'hex'))).toThrow(
      /same key twice/,
    );
    expect(() => decoder.decode(Buffer.from('a10180', 'hex'))).toThrow(/not text/);
  });

  it('with too many messages is refused before it uses the memory', { tags: ['slow'] }, () => {
    const decoder = createMessageDecoder(createNameTable());
    const many = MESSAGES_PER_BODY_MAX + 1;
    const cbor = Buffer.concat([
      Buffer.from('9f', 'hex'),
      Buffer.alloc(many * 10, 0x00),
      Buffer.from('ff', 'hex'),
    ]);
    expect(() => decoder.decode(cbor)).toThrow(/more than 100000 messages/);
    expect(() => decoder.decode(Buffer.from(`[${'0,'.repeat(many)}0]`))).toThrow(/more than 100000 messages/);
  });

  it('without a next position has one after its last message', () => {
    const decoder = createMessageDecoder(createNameTable());
    const goOnAt = (messages: unknown[]) => {
      const body = decoder.decode(Buffer.from(encodeCbor(messages)));
      return body.kind === 'batch' ? offsetAfter(body.columns) : 'an error';
    };
    expect(goOnAt([message(5), message(2n ** 60n), message(7)])).toBe(2n ** 60n + 1n);
    expect(goOnAt([message(5), message(9, { device: 'no UUID' })])).toBe(10n);
    expect(goOnAt([])).toBeUndefined();
  });
});

describe('an error', () => {
  it('is read in the form of our server', () => {
    const error = new StreamError('OffsetExpired', 'gone', {
      earliestOffset: 2n ** 60n,
      nextOffset: 2n ** 61n,
      epoch: 'e1',
    });
    expect(everyWay(error.body()).body).toMatchObject({
      kind: 'error',
      error: 'OffsetExpired',
      message: 'gone',
      earliestOffset: 2n ** 60n,
      nextOffset: 2n ** 61n,
      epoch: 'e1',
      members: { status: 410, retryable: false },
    });
  });

  it.each<[what: string, body: object, error: string, message: string]>([
    ['text', { error: 'Offset expired' }, 'Offset expired', 'Offset expired'],
    ['a map', { error: { code: 'gone', message: 'too old' } }, 'gone', 'too old'],
    ['a map with a name', { error: { name: 'Gone' }, message: 'x' }, 'Gone', 'x'],
    ['true', { error: true, message: 'x' }, 'Unknown', 'x'],
    ['text beside an empty list', { messages: [], error: 'no' }, 'no', 'no'],
  ])('is read as %s', (_, body, error, text) => {
    expect(everyWay(body).body).toMatchObject({ kind: 'error', error, message: text });
  });

  it.each([null, false, ''])('is none where it says %j', (error) => {
    expect(everyWay({ error, messages: [message(1)] })).toMatchObject({
      body: { kind: 'batch' },
      offsets: [1n],
    });
  });

  it('is read from decoded values', () => {
    expect(bodyFromRoots([{ error: 'x' }], createNameTable())).toMatchObject({ kind: 'error', error: 'x' });
  });
});
