import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import {
  answerMessages,
  type Case,
  changeOffset,
  ofSample,
  onBatch,
  onError,
  onFuture,
  onQuery,
  onStatus,
  patch,
  refuse,
  sayUpToDate,
} from './breakage.ts';

/** Servers that answer reads wrongly. */
export const readCases: Case[] = [
  {
    name: 'device status is telemetry',
    fails: ['message.device-status'],
    ...onStatus((status) => {
      status.kind = 'telemetry';
    }),
  },
  {
    name: 'devices are up and down',
    fails: ['message.device-status'],
    ...onStatus((status) => {
      status.state = status.state === 'online' ? 'up' : 'down';
    }),
  },
  {
    name: 'a batch has another content type',
    fails: ['answer.content-type'],
    ...onBatch(({ headers }) => {
      headers['content-type'] = 'application/octet-stream';
    }),
  },
  {
    name: 'the epoch is a number',
    fails: ['answer.map', 'answer.epoch'],
    ...onBatch(({ body }) => {
      body.epoch = 7;
    }),
  },
  {
    name: 'the epoch is empty',
    fails: ['answer.epoch'],
    ...onBatch(({ body }) => {
      body.epoch = '';
    }),
  },
  {
    name: 'each table has an epoch of its own',
    fails: ['answer.epoch'],
    ...onBatch(({ body }, { table }) => {
      body.epoch = table;
    }),
  },
  {
    name: 'the map is of indefinite length',
    fails: ['answer.definite-map'],
    ...onBatch((answer) => {
      answer.bytes = Buffer.concat([
        Buffer.from([0xbf]),
        encodeCbor(answer.body).subarray(1),
        Buffer.from([0xff]),
      ]);
    }),
  },
  {
    name: 'a key comes twice',
    fails: ['answer.plain-cbor'],
    ...onBatch((answer) => {
      const bytes = encodeCbor(answer.body);
      bytes[0]!++;
      answer.bytes = Buffer.concat([bytes, Buffer.from('65636f756e7400', 'hex')]);
    }),
  },
  {
    name: 'the epoch has a tag',
    fails: ['answer.map', 'answer.plain-cbor', 'answer.epoch'],
    ...onBatch((answer) => patch(answer, '6565706f6368', '6565706f6368d864')),
  },
  {
    name: 'count is a float',
    fails: ['answer.integers'],
    // "count" 12 or 18 messages, as a float of 32 bits
    ...onBatch((answer) => {
      const count = Number(answer.body.count);
      if (count >= 24) return;
      const float = Buffer.alloc(4);
      float.writeFloatBE(count);
      const head = '65636f756e74';
      patch(answer, `${head}${count.toString(16).padStart(2, '0')}`, `${head}fa${float.toString('hex')}`);
    }),
  },
  {
    name: 'count is one too many',
    fails: ['answer.count'],
    ...onBatch(({ body }) => {
      body.count = Number(body.count) + 1;
    }),
  },
  {
    name: 'a header says another position',
    fails: ['answer.headers'],
    ...onBatch(({ headers }) => {
      headers['stream-next-offset'] = '1';
    }),
  },
  {
    name: 'answers may be cached for everybody',
    fails: ['answer.not-cached'],
    ...onBatch(({ headers }) => {
      delete headers.vary;
    }),
  },
  {
    name: 'the epoch changes all the time',
    fails: ['answer.epoch'],
    ...onBatch(({ body }) => {
      body.epoch = String(Math.random());
    }),
  },
  {
    name: 'earliestOffset is the tail',
    fails: ['answer.bounds', 'start.oldest'],
    ...onBatch(({ body }) => {
      body.earliestOffset = body.nextOffset;
    }),
  },
  {
    name: 'a message id is negative',
    fails: ['message.members'],
    ...onBatch((answer) => {
      for (const message of ofSample(answer)) message.msg_id = -1;
    }),
  },
  {
    name: 'messages come last first',
    fails: ['message.order', 'offset.exact', 'offset.pages', 'table.wildcard', 'limit.count'],
    ...onBatch((answer) => answerMessages(answer).reverse()),
  },
  {
    name: 'store times are a second late',
    fails: ['message.store-time', 'timestamp.first', 'timestamp.forms', 'timestamp.unclamped'],
    ...onBatch((answer) => {
      for (const message of answerMessages(answer)) message.store_time = Number(message.store_time) + 1_000;
    }),
  },
  {
    name: 'a message names another table',
    fails: ['message.table'],
    ...onBatch((answer) => {
      for (const message of ofSample(answer)) message.table = 'other';
    }),
  },
  {
    name: 'reads start at the tail',
    fails: ['start.oldest', 'timestamp.retention', 'timestamp.unclamped'],
    ...onQuery((query) => {
      if (!query.has('offset') && !query.has('timestamp')) query.set('timestamp', '2999-01-01T00:00:00Z');
    }),
  },
  {
    name: 'offsets are exclusive',
    fails: [
      'offset.inclusive',
      'offset.pages',
      'offset.at-the-tail',
      'offset.over-timestamp',
      'table.wildcard',
      'parameters.unknown',
    ],
    ...onQuery((query) => {
      changeOffset(query, (offset) => offset + 1n);
    }),
  },
  {
    name: 'messages from an offset on have lost their data',
    fails: ['offset.inclusive', 'offset.pages', 'offset.over-timestamp', 'parameters.unknown'],
    ...onBatch((answer, { query }) => {
      if (query.has('offset')) for (const message of ofSample(answer)) message.data = {};
    }),
  },
  {
    name: 'offsets count by milliseconds only',
    fails: [
      'offset.inclusive',
      'offset.exact',
      'offset.pages',
      'offset.over-timestamp',
      'parameters.unknown',
    ],
    ...onQuery((query) => {
      changeOffset(query, (offset) => (offset >> 20n) << 20n);
    }),
  },
  {
    name: 'nextOffset is the last message',
    fails: ['answer.bounds', 'offset.pages'],
    ...onBatch((answer) => {
      answer.body.nextOffset = answerMessages(answer).at(-1)?.offset ?? answer.body.nextOffset;
      answer.headers['stream-next-offset'] = String(answer.body.nextOffset);
    }),
  },
  {
    name: 'the position at the tail lies past it',
    fails: ['offset.at-the-tail'],
    ...onBatch((answer) => {
      if (answer.body.upToDate !== true) return;
      answer.body.nextOffset = BigInt(answer.body.nextOffset as bigint) + 1n;
      answer.headers['stream-next-offset'] = String(answer.body.nextOffset);
    }),
  },
  {
    name: 'timestamp wins over offset',
    fails: ['offset.over-timestamp'],
    ...onQuery((query) => {
      if (query.has('timestamp')) query.delete('offset');
    }),
  },
  {
    name: 'a filtered tail stops the position',
    fails: ['offset.filtered-tail'],
    ...onBatch((answer, { query }) => {
      const offset = query.get('offset');
      if (answerMessages(answer).length > 0 || offset === null) return;
      answer.body.nextOffset = BigInt(offset);
      answer.headers['stream-next-offset'] = offset;
    }),
  },
  {
    name: 'an empty offset counts as no offset',
    fails: ['offset.invalid'],
    ...onQuery((query) => {
      if (query.get('offset') === '') query.delete('offset');
    }),
  },
  {
    name: 'the last of several offsets counts',
    fails: ['offset.repeated'],
    ...onQuery((query) => {
      if (query.getAll('offset').length > 1) query.set('offset', '0');
    }),
  },
  {
    name: 'the first of several offsets counts',
    fails: ['offset.repeated'],
    ...onQuery((query) => {
      if (query.getAll('offset').length > 1) query.set('offset', query.get('offset')!);
    }),
  },
  {
    name: 'the tail that is named for an offset past it is past it, too',
    fails: ['offset.ahead'],
    ...onError('OffsetAhead', ({ body }) => {
      body.nextOffset = BigInt(body.nextOffset as bigint) + 1n;
    }),
  },
  {
    name: 'an offset past the tail is waited for',
    fails: ['offset.ahead'],
    ...onError('OffsetAhead', (answer) => {
      answer.status = 200;
      answer.body = {
        messages: [],
        nextOffset: 2n ** 64n - 1n,
        count: 0,
        upToDate: true,
        earliestOffset: 0,
        epoch: 'x',
      };
    }),
  },
  {
    name: 'a table without messages is never up to date',
    fails: ['table.empty'],
    ...onBatch((answer) => {
      if (answerMessages(answer).length === 0) sayUpToDate(answer, false);
    }),
  },
  {
    name: 'the wildcard is a table that nobody wrote to',
    fails: ['table.wildcard'],
    request: (passing) => {
      if (passing.table === '-') passing.table = 'nobody';
    },
  },
  {
    name: 'unknown parameters are refused',
    fails: ['parameters.unknown'],
    response: (answer, { query }) => {
      if (query.has('colour')) refuse(answer, 400, 'InvalidRequest');
    },
  },
  {
    name: 'timestamps count by the minute',
    fails: ['timestamp.first', 'timestamp.forms'],
    ...onQuery((query) => {
      const timestamp = query.get('timestamp') ?? '';
      if (/^\d{13}$/.test(timestamp))
        query.set('timestamp', String(Math.floor(Number(timestamp) / 60_000) * 60_000));
    }),
  },
  {
    name: 'zones of timestamps are ignored',
    fails: ['timestamp.forms'],
    ...onQuery((query) => {
      const timestamp = query.get('timestamp') ?? '';
      if (/[+-]\d\d:\d\d$/.test(timestamp)) query.set('timestamp', `${timestamp.slice(0, -6)}Z`);
    }),
  },
  {
    name: 'a timestamp without a zone is UTC',
    fails: ['timestamp.invalid'],
    ...onQuery((query) => {
      const timestamp = query.get('timestamp') ?? '';
      if (/T[\d:]+$/.test(timestamp)) query.set('timestamp', `${timestamp}Z`);
    }),
  },
  {
    name: 'what is too old is not announced',
    fails: ['timestamp.retention'],
    ...onBatch(({ body }) => {
      if (body.clamped === 'retention') delete body.clamped;
    }),
  },
  {
    name: 'what is to come is not announced',
    fails: ['timestamp.future'],
    ...onBatch(({ body }) => {
      if (body.clamped === 'future') delete body.clamped;
    }),
  },
  {
    name: 'a timestamp in the future brings the newest message again',
    fails: ['timestamp.future'],
    ...onFuture((newest) => ({ messages: [newest] })),
  },
  {
    name: 'a timestamp in the future leads to the newest message, not past it',
    fails: ['timestamp.future'],
    ...onFuture((newest) => ({ nextOffset: newest.offset })),
  },
  {
    name: 'clamped is always there',
    fails: ['timestamp.unclamped'],
    ...onBatch(({ body }) => {
      body.clamped ??= 'no';
    }),
  },
  {
    name: 'a read that its limit ended is up to date',
    fails: ['limit.count'],
    ...onBatch((answer) => sayUpToDate(answer, true)),
  },
  {
    name: 'limits are one more than asked for',
    fails: [
      'offset.inclusive',
      'offset.exact',
      'offset.pages',
      'offset.over-timestamp',
      'parameters.unknown',
      'limit.count',
    ],
    ...onQuery((query) => {
      if (/^\d$/.test(query.get('limit') ?? '') && query.get('limit') !== '0')
        query.set('limit', String(Number(query.get('limit')) + 1));
    }),
  },
  {
    name: 'a limit above the maximum is refused',
    fails: ['limit.above'],
    response: (answer, { query }) => {
      if (Number(query.get('limit')) > 10_000) refuse(answer, 400, 'InvalidLimit');
    },
  },
  {
    name: 'a limit of 0 counts as no limit',
    fails: ['limit.invalid'],
    ...onQuery((query) => {
      if (query.get('limit') === '0') query.delete('limit');
    }),
  },
  {
    name: 'a parameter is not named',
    fails: ['offset.invalid', 'offset.repeated'],
    ...onError('InvalidOffset', ({ body }) => {
      delete body.parameter;
    }),
  },
];
