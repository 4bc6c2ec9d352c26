import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createRestSource, type RestSourceOptions } from '../../src/client/rest-source.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { until } from '../support/until.ts';
import { startVendor } from '../support/vendor-server.ts';

const closing: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function vendorAnd(options: Partial<RestSourceOptions> = {}) {
  const vendor = await startVendor();
  const source = createRestSource({ url: vendor.url, workgroup: 'acme', token: 'secret', ...options });
  closing.push(source.close, vendor.close);
  return { vendor, source };
}

/** Starts a server with this listener. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function sourceOf(url: string, options: Partial<RestSourceOptions> = {}) {
  const source = createRestSource({ url, workgroup: 'acme', ...options });
  closing.push(source.close);
  return source;
}

const oldest = { ask: { kind: 'oldest' } } as const;

describe('the request', () => {
  test('has an offset, a time or the start, a token, plain bytes and the requested wait', async () => {
    const { vendor, source } = await vendorAnd({ table: 'solar power' });
    await source.fetch({ ask: { kind: 'offset', offset: 2n ** 64n - 1n }, waitSeconds: 2 });
    await source.fetch({ ask: { kind: 'timestamp', timestampMs: 1_760_000_000_123 }, messagesMax: 5 });
    await source.fetch(oldest);
    const path = '/api/v1/tables/acme/solar%20power/latest';
    expect(vendor.requests.map(({ url, prefer }) => ({ url, prefer }))).toEqual([
      { url: `${path}?offset=18446744073709551615&limit=10000`, prefer: 'wait=2' },
      { url: `${path}?timestamp=1760000000123&limit=5`, prefer: undefined },
      { url: `${path}?limit=10000`, prefer: undefined },
    ]);
    expect(vendor.requests[0]).toMatchObject({ authorization: 'Bearer secret', acceptEncoding: 'identity' });
  });

  test('a base address may have a path', async () => {
    const { vendor } = await vendorAnd();
    await sourceOf(`${vendor.url}/energy/`).fetch(oldest);
    expect(vendor.requests[0]!.url).toMatch(/^\/energy\/api\/v1\/tables\/acme\/-\/latest/);
  });
});

describe('tokens', () => {
  test('an expired token is renewed once, at the same offset', async () => {
    const asked: boolean[] = [];
    let current = 'old';
    const { vendor, source } = await vendorAnd({
      token: async (renew) => {
        asked.push(renew);
        if (renew) current = 'new';
        return current;
      },
    });
    vendor.tokens = new Set(['new']);
    const answer = await source.fetch({ ask: { kind: 'offset', offset: 77n } });
    expect(answer.status).toBe(200);
    expect(asked).toEqual([false, true]);
    expect(vendor.requests.map(({ offset, authorization }) => [offset, authorization])).toEqual([
      ['77', 'Bearer old'],
      ['77', 'Bearer new'],
    ]);
  });

  test('a token that is refused again is not renewed again', async () => {
    let renewals = 0;
    const { vendor, source } = await vendorAnd({ token: (renew) => (renew ? `new-${++renewals}` : 'old') });
    vendor.tokens = new Set(['other']);
    expect((await source.fetch(oldest)).status).toBe(401);
    expect(renewals).toBe(1);
    const fixed = sourceOf(vendor.url, { token: () => 'old' });
    expect((await fixed.fetch(oldest)).status).toBe(401);
    expect(vendor.requests).toHaveLength(3);
  });
});

describe('redirects', () => {
  test('are followed within the origin', async () => {
    const url = await serve((request, response) => {
      if (request.url?.startsWith('/v2/v2/v2/')) response.end('there');
      else response.writeHead(307, { location: `/v2${request.url}` }).end();
    });
    const answer = await sourceOf(url).fetch(oldest);
    expect(Buffer.from(answer.bytes).toString()).toBe('there');
  });

  test('never send the token to another origin, and are bounded', async () => {
    const seen: unknown[] = [];
    const asked: unknown[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const url = await serve((request, response) => {
      asked.push(request.url);
      response.writeHead(302, { location: `${other}/there` }).end();
    });
    let turns = 0;
    const loop = await serve((request, response) => {
      turns += 1;
      response.writeHead(302, { location: request.url ?? '/' }).end();
    });
    for (const from of [url, loop]) {
      const reading = sourceOf(from, { token: 'secret' }).fetch(oldest);
      await expect(reading).rejects.toMatchObject({ code: 'RedirectRefused', retryable: false });
    }
    expect(seen).toEqual([]);
    expect(asked).toHaveLength(1);
    // The request, and three redirects.
    expect(turns).toBe(4);
  });
});

describe('the watchdog', () => {
  const timeouts = { headersMs: 150, bodyMs: 150, totalMs: 400 };

  test('ends a request without an answer, and a request if the body of the answer stops', {
    tags: ['slow'],
  }, async () => {
    const { vendor, source } = await vendorAnd({ timeouts: { ...timeouts, totalMs: 60_000 } });
    vendor.append(50);
    vendor.faults = ['hang', 'stall'];
    await expect(source.fetch(oldest)).rejects.toMatchObject({ code: 'AnswerTimeout' });
    await expect(source.fetch(oldest)).rejects.toMatchObject({ code: 'AnswerTimeout' });
    // The source still works.
    expect((await source.fetch(oldest)).status).toBe(200);
  });

  test('ends an answer that continues for too long', async () => {
    const trickling = await serve((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(timer));
    });
    const reading = sourceOf(trickling, { timeouts: { totalMs: 50 } }).fetch(oldest);
    await expect(reading).rejects.toMatchObject({ code: 'AnswerTimeout' });
  });

  test('does not end slow answers within the limits', async () => {
    const url = await serve((_, response) => void setTimeout(() => response.end('late'), 100));
    expect((await sourceOf(url, { timeouts }).fetch(oldest)).status).toBe(200);
  });

  test('an abort ends a request at once with its reason', async () => {
    const { vendor, source } = await vendorAnd();
    vendor.faults = ['hang'];
    const controller = new AbortController();
    const reading = source.fetch({ ...oldest, signal: controller.signal });
    const reason = new Error('shutting down');
    setTimeout(() => controller.abort(reason), 20);
    await expect(reading).rejects.toBe(reason);
    await expect(source.fetch({ ...oldest, signal: controller.signal })).rejects.toBe(reason);
  });
});

test('a request that is aborted while it waits for a connection is never sent', async () => {
  const { vendor, source } = await vendorAnd({ connectionsMax: 1, timeouts: { totalMs: 300 } });
  vendor.faults = ['hang'];
  const first = source.fetch(oldest).catch(() => 'ended');
  const controller = new AbortController();
  const second = source.fetch({ ...oldest, signal: controller.signal }).catch(() => 'aborted');
  // Both are with the connections, and there is only one.
  await until('the first was sent', () => vendor.requests.length === 1);
  controller.abort();
  expect(await second).toBe('aborted');
  expect(await first).toBe('ended');
  expect((await source.fetch(oldest)).status).toBe(200);
  expect(vendor.requests).toHaveLength(2);
});

describe('the body', () => {
  test('arrives whole, announced or not, in a buffer that can be transferred', async () => {
    const sent = Buffer.alloc(3_000_001, 'abc');
    for (const headers of [{ 'content-length': String(sent.length) }, {}]) {
      const url = await serve((_, response) => {
        response.writeHead(200, headers);
        response.write(sent.subarray(0, 1_000_000));
        response.end(sent.subarray(1_000_000));
      });
      const { bytes } = await sourceOf(url).fetch(oldest);
      expect(Buffer.compare(bytes, sent)).toBe(0);
      expect(structuredClone(bytes, { transfer: [bytes.buffer] }).length).toBe(sent.length);
    }
  });

  test('goes into a buffer that was handed back, but not into a buffer that is in use', async () => {
    const url = await serve((request, response) => {
      const size = Number(new URL(request.url ?? '', 'http://x').searchParams.get('limit'));
      response.end(Buffer.alloc(size, String(size)));
    });
    const source = sourceOf(url);
    const first = await source.fetch({ ...oldest, messagesMax: 100_000 });
    const second = await source.fetch({ ...oldest, messagesMax: 90_000 });
    expect(second.bytes.buffer).not.toBe(first.bytes.buffer);
    source.recycle(first.bytes.buffer);
    source.recycle(first.bytes.buffer);
    const third = await source.fetch({ ...oldest, messagesMax: 80_000 });
    const fourth = await source.fetch({ ...oldest, messagesMax: 70_000 });
    expect(third.bytes.buffer).toBe(first.bytes.buffer);
    expect(new Set([second, third, fourth].map(({ bytes }) => bytes.buffer)).size).toBe(3);
    for (const [answer, size] of [
      [second, 90_000],
      [third, 80_000],
      [fourth, 70_000],
    ] as const) {
      expect(Buffer.compare(answer.bytes, Buffer.alloc(size, String(size)))).toBe(0);
    }
    structuredClone(fourth.bytes, { transfer: [fourth.bytes.buffer] });
    source.recycle(fourth.bytes.buffer);
    expect((await source.fetch({ ...oldest, messagesMax: 60_000 })).bytes.length).toBe(60_000);
  });

  test('is refused beyond the limit, and before it is read if its size is announced', async () => {
    const announced = await serve((_, response) =>
      response.writeHead(200, { 'content-length': '1001' }).write('a'),
    );
    const unannounced = await serve((_, response) => {
      response.writeHead(200).write(Buffer.alloc(900));
      response.end(Buffer.alloc(900));
    });
    for (const url of [announced, unannounced]) {
      const reading = sourceOf(url, { bytesMax: 1_000 }).fetch(oldest);
      await expect(reading).rejects.toBeInstanceOf(TerminalError);
      await expect(reading).rejects.toMatchObject({ code: 'AnswerTooLarge' });
    }
  });

  test('that breaks off is a failure that may pass, like a missing server', async () => {
    const { vendor, source } = await vendorAnd();
    vendor.append(50);
    vendor.faults = ['truncated', 'reset'];
    for (let read = 0; read < 2; read++) {
      await expect(source.fetch(oldest)).rejects.toMatchObject({ code: 'NetworkFailure' });
    }
    await vendor.close();
    closing.pop();
    await expect(source.fetch(oldest)).rejects.toBeInstanceOf(TransientError);
  });

  test('any status is an answer with its headers', async () => {
    const url = await serve((_, response) =>
      response
        .writeHead(429, {
          'content-type': 'Application/CBOR; charset=x',
          'retry-after': '7',
          'stream-next-offset': '12',
          'stream-up-to-date': 'FALSE',
          'stream-lag-messages': '31',
        })
        .end(),
    );
    expect(await sourceOf(url).fetch(oldest)).toMatchObject({
      status: 429,
      contentType: 'application/cbor',
      retryAfterMs: 7_000,
      nextOffset: '12',
      upToDate: false,
      lagMessages: 31,
    });
  });
});

test('no error names a token', async () => {
  const { vendor, source } = await vendorAnd({ token: 'very-secret', timeouts: { totalMs: 100 } });
  vendor.faults = ['reset', 'hang'];
  for (let read = 0; read < 2; read++) {
    const error = await source.fetch(oldest).catch((caught: unknown) => caught as Error);
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('very-secret');
  }
});
