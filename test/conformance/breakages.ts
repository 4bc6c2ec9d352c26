import { setTimeout as sleep } from 'node:timers/promises';
import { decodeCbor, encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { answerMessages, type Case, isError, onBatch, onError, patch, refuse } from './breakage.ts';
import type { Breakage, Passing } from './breaking-proxy.ts';

export const accessCases = (token: string, restrictedToken: string): Case[] => [
  {
    name: 'no challenge',
    fails: ['access.no-token', 'access.bad-token'],
    response: ({ headers }) => {
      delete headers['www-authenticate'];
    },
  },
  {
    name: 'a challenge that does not say what is wrong',
    fails: ['access.bad-token'],
    ...onError('InvalidToken', ({ headers }) => {
      headers['www-authenticate'] = 'Bearer';
    }),
  },
  {
    name: 'a bad token is no token',
    fails: ['access.bad-token'],
    ...onError('InvalidToken', ({ body }) => {
      body.error = 'AuthenticationRequired';
    }),
  },
  {
    name: 'a workgroup that there is not is 404',
    fails: ['access.workgroup', 'access.workgroup-hidden'],
    response: (answer, { workgroup }) => {
      if (workgroup.startsWith('nobody')) refuse(answer, 404, 'NotFound');
    },
  },
  {
    name: 'an existing workgroup has another answer than an unknown one',
    fails: ['access.workgroup-hidden'],
    response: ({ body }, { workgroup }) => {
      if (workgroup === 'other') body.message = 'it is there, but not for you';
    },
  },
  {
    name: 'no scopes are named',
    fails: ['access.workgroup', 'access.audit', 'access.write'],
    response: ({ body }) => {
      delete body.required;
    },
  },
  {
    name: 'everybody sees every device and writes',
    fails: ['access.audit', 'access.devices', 'access.write'],
    request: ({ headers }) => {
      if (headers.authorization === `Bearer ${restrictedToken}`) headers.authorization = `Bearer ${token}`;
    },
  },
];

function decodeItems({ headers, body }: Passing): unknown[] {
  const items = headers['content-type'] === 'application/cbor' && body[0] === 0x82 ? decodeCbor(body) : [];
  return items as unknown[];
}

export const ingestCases: Case[] = [
  {
    name: 'one message too many is accepted',
    fails: ['ingest.cbor'],
    response: ({ body }) => {
      if (body.accepted !== undefined) body.accepted = Number(body.accepted) + 1;
    },
  },
  {
    name: 'integers become floats',
    fails: ['ingest.integers'],
    // 65 77686f6c65: the text "whole". 1a 000f4240: the integer 1,000,000. fa 49742400: the same as a float.
    ...onBatch((answer) => patch(answer, '6577686f6c651a000f4240', '6577686f6c65fa49742400')),
  },
  {
    name: 'large integers lose digits',
    fails: ['ingest.cbor'],
    ...onBatch((answer) => {
      for (const { data } of answerMessages(answer) as Array<{ data: Record<string, unknown> }>)
        if (typeof data.least === 'bigint') data.least += 1n;
    }),
  },
  {
    name: 'JSON is not read',
    fails: ['ingest.json', 'ingest.malformed'],
    response: (answer, { headers }) => {
      if (headers['content-type'] === 'application/json') refuse(answer, 415, 'UnsupportedMediaType');
    },
  },
  {
    name: 'NDJSON is not read',
    fails: ['ingest.ndjson', 'ingest.malformed'],
    response: (answer, { headers }) => {
      if (headers['content-type'] === 'application/x-ndjson') refuse(answer, 415, 'UnsupportedMediaType');
    },
  },
  {
    name: 'lastOffset is the next one',
    fails: ['ingest.offsets'],
    response: ({ body }) => {
      if (body.lastOffset !== undefined) body.lastOffset = BigInt(body.lastOffset as bigint) + 1n;
    },
  },
  {
    name: 'the good items of a bad request are stored',
    fails: ['ingest.all-or-nothing'],
    response: async ({ body }, passing, forward) => {
      const items = decodeItems(passing);
      if (items.length !== 2 || !Array.isArray(body.items)) return;
      await forward({ ...passing, body: Buffer.from(encodeCbor(items.slice(0, 1))) });
    },
  },
  {
    name: 'only the first bad item is listed',
    fails: ['ingest.bad-items'],
    ...onError('InvalidRequest', ({ body }) => {
      if (Array.isArray(body.items)) body.items = body.items.slice(0, 1);
    }),
  },
  {
    name: 'a map is accepted',
    fails: ['ingest.malformed'],
    response: (answer, { body }) => {
      if (body.length === 1 && body[0] === 0xa0)
        Object.assign(answer, { status: 200, body: { accepted: 0 } });
    },
  },
];

export const errorCases: Case[] = [
  {
    name: 'errors are JSON',
    fails: ['error.content-type'],
    response: (answer) => {
      if (isError(answer)) answer.headers['content-type'] = 'application/json';
    },
  },
  {
    name: 'errors have no message',
    fails: ['error.map'],
    response: (answer) => {
      if (isError(answer)) delete answer.body.message;
    },
  },
  {
    name: 'the status in an error differs from the status of the answer',
    fails: ['error.map'],
    response: (answer) => {
      if (isError(answer)) answer.body.status = 500;
    },
  },
  {
    name: 'an error has a status above its own',
    fails: ['error.code'],
    ...onError('InvalidLimit', (answer) => {
      answer.status = 403;
      answer.body.status = 403;
    }),
  },
  {
    name: 'an error has a status below its own',
    fails: ['access.no-token', 'error.code'],
    ...onError('AuthenticationRequired', (answer) => {
      answer.status = 400;
      answer.body.status = 400;
    }),
  },
  {
    name: 'every error is worth trying again',
    fails: ['error.code'],
    response: (answer) => {
      if (isError(answer)) answer.body.retryable = true;
    },
  },
  {
    name: 'the answer to too many requests does not say how long to wait',
    fails: ['error.retry-after'],
    ...busyOnce({}),
  },
  {
    name: 'nothing is broken, and the answer to too many requests says how long to wait',
    fails: [],
    ...busyOnce({ 'retry-after': '0' }),
  },
];

/** Servers that break rules on time. */
export const waitCases: Case[] = [
  {
    name: 'reads are answered at once',
    fails: ['wait.idle', 'wait.reset'],
    request: ({ headers }) => {
      headers.prefer = 'wait=0';
    },
  },
  {
    name: 'a read ends a second after it began',
    fails: ['wait.reset'],
    request: ({ headers }) => {
      headers.prefer ??= 'wait=1';
    },
  },
  {
    name: 'a message that ends the wait is returned twice',
    fails: ['wait.reset'],
    response: (answer, { method, query }) => {
      const messages = answerMessages(answer);
      if (method === 'GET' && query.has('offset') && messages.length === 1) messages.push(messages[0]!);
    },
  },
  {
    name: 'every message makes every read longer',
    fails: ['wait.filtered'],
    ...slowedByWrites(),
  },
  {
    name: 'a read that has its limit waits all the same',
    fails: ['limit.at-once'],
    response: async (_, { query, headers }) => {
      if (query.get('limit') === '2' && headers.prefer === undefined) await sleep(1_000);
    },
  },
];

/** A read takes longer if messages are written during it. */
function slowedByWrites(): Breakage {
  let writes = 0;
  const writesBefore = new WeakMap<Buffer, number>();
  return {
    request: ({ method, body }) => {
      if (method === 'POST') writes++;
      else writesBefore.set(body, writes);
    },
    response: async (_, { method, body }) => {
      if (method === 'GET' && writesBefore.get(body) !== writes) await sleep(600);
    },
  };
}

/** Servers that only large answers reveal. */
export const sizeCases: Case[] = [
  {
    name: 'answers are half as large, and padded to 9 MB',
    fails: ['limit.default', 'limit.bytes'],
    request: ({ query }) => {
      if (!query.has('limit')) query.set('limit', '5000');
    },
    response: (answer) => {
      if (answerMessages(answer).length > 1_000) answer.body.padding = Buffer.alloc(9_000_000);
    },
  },
  {
    name: 'what is too large is a bad request',
    fails: ['ingest.items-max', 'ingest.bytes-max'],
    ...onError('PayloadTooLarge', (answer) => refuse(answer, 400, 'InvalidRequest')),
  },
];

/** A server that only a long request reveals. */
export const holdCase: Case = {
  name: 'reads end after three seconds, whatever comes',
  fails: ['wait.hold'],
  request: ({ headers }) => {
    headers.prefer ??= 'wait=3';
  },
};

/** A server that only a log with lost messages reveals. */
export const expiredCase: Case = {
  name: 'an expired offset does not say which log it is',
  fails: ['offset.expired'],
  ...onError('OffsetExpired', ({ body }) => {
    delete body.epoch;
  }),
};

/** Refuses one request. */
function busyOnce(headers: Record<string, string>): Breakage {
  let isOver = false;
  return {
    response: (answer, { method }) => {
      if (isOver || method !== 'GET') return;
      isOver = true;
      answer.status = 429;
      answer.body = { error: 'RateLimited', message: 'too many', status: 429, retryable: true };
      Object.assign(answer.headers, headers);
    },
  };
}
