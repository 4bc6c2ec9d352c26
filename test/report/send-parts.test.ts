import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { jsonParts, sendParts } from '../../src/report/rows/send-parts.ts';
import { atEnd, shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const openedLake = shared(async () => {
  const lake = await openLakeReader({ lakeDir: tempDir(), threads: 1 });
  atEnd(() => lake.close());
  return lake;
});

type Answer = Parameters<typeof sendParts>[3];
const noRows: Answer['rows'] = { name: 'days', select: () => Promise.reject(new Error('no rows')) };
/** An answer to every path. */
function setUp(answer: Partial<Answer>) {
  const lake = openedLake();
  const answered: unknown[] = [];
  const app = fastify();
  onTestFinished(() => app.close());
  app.get('/*', (request, reply) =>
    sendParts(request, reply, lake, {
      ...{ etag: '"1"', read: async () => jsonParts({ path: request.url }), rows: noRows },
      onAnswered: ({ bytes, durationMs }) => answered.push([bytes, durationMs >= 0]),
      ...answer,
    }),
  );
  return { app, answered };
}

test('the answer has its tag and its length, and is asked for again before a cache uses it', async () => {
  const { app, answered } = setUp({ read: async () => [Buffer.from('[1,'), Buffer.from('2]')] });
  const { body, headers, statusCode } = await app.inject('/days');
  expect([statusCode, body]).toEqual([200, '[1,2]']);
  expect(headers).toMatchObject({
    ...{ etag: '"1"', 'content-length': '5', 'cache-control': 'private, no-cache' },
    ...{ vary: 'Authorization, Accept', 'content-type': expect.stringContaining('application/json') },
  });
  expect(headers).not.toHaveProperty('wattline-flags');
  expect(answered).toEqual([[5, true]]);
});

test('what has not changed is not read', async () => {
  const { app, answered } = setUp({ read: () => Promise.reject(new Error('it was read')) });
  const { body, headers, statusCode } = await app.inject({ url: '/', headers: { 'if-none-match': '"1"' } });
  expect([statusCode, body, headers.etag, answered]).toEqual([304, '', '"1"', []]);
});

test('an error has no tag, because the next answer is another one', async () => {
  const { app, answered } = setUp({ read: () => Promise.reject(new Error('away')) });
  for (const accept of ['application/json', 'text/csv']) {
    const { headers, statusCode } = await app.inject({ url: '/', headers: { accept } });
    expect([statusCode, headers.etag, answered]).toEqual([500, undefined, []]);
  }
});

test('flags that the text does not show are counted in a header', async () => {
  const parts = jsonParts({});
  const { app } = setUp({ read: async () => ({ parts, flags: { gap: 2, reset: 1 } }) });
  expect((await app.inject('/')).headers['wattline-flags']).toBe('gap=2, reset=1');
});

test('requests at the same time share an answer if address and tag are the same, whatever the order of the query', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const lake = openedLake();
  const read: string[] = [];
  const app = fastify();
  onTestFinished(() => app.close());
  app.get('/:path', async (request, reply) => {
    const { etag } = request.query as { etag: string };
    return sendParts(request, reply, lake, {
      ...{ etag, rows: noRows, onAnswered: () => undefined },
      async read() {
        read.push(request.url);
        await released;
        return jsonParts(request.url);
      },
    });
  });
  const urls = ['/a?etag=1&x=1', '/a?x=1&etag=1', '/a?etag=2', '/b?etag=1'];
  const answers = urls.map(async (url) => (await app.inject(url)).json());
  await until('three are read', () => read.length === 3);
  release();
  expect(await Promise.all(answers)).toEqual([urls[0], urls[0], urls[2], urls[3]]);
  expect(read).toHaveLength(3);
});
