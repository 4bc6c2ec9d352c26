import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { withdrawAnswer } from '../../src/http/withdraw-answer.ts';
import { createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

test('an error instead of an answer has nothing of the answer: no length, no file name, no ETag, no stream', async () => {
  const app = setUp();
  const stream = Readable.from(['x'.repeat(1_000)]);
  app.get('/file', async (_, reply) =>
    reply
      .headers({ 'content-length': 1_000, 'content-disposition': 'attachment; filename="a"', etag: '"a"' })
      .send(stream),
  );
  app.addHook('onSend', async (_, reply, payload) => {
    if (reply.statusCode >= 400) return;
    withdrawAnswer(reply, payload);
    throw new StreamError('InvalidToken', 'the token is not valid any more');
  });
  const answer = await app.inject('/file');
  expect([answer.statusCode, answer.json().error]).toEqual([401, 'InvalidToken']);
  expect(answer.headers['content-length']).toBe(String(answer.rawPayload.length));
  expect(answer.headers).not.toHaveProperty('content-disposition');
  expect(answer.headers).not.toHaveProperty('etag');
  expect(stream.destroyed).toBe(true);
});
