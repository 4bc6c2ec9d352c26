import { request } from 'node:http';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

const path = `/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=2026-01-01&endDate=2026-11-18`;

/** The answer as it is sent, because fetch decompresses it. */
function ask(at: ReportFixture, { url = path, method = 'GET', headers = {} }: AskOptions = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const sent = request(
        at.base + url,
        { method, headers: { authorization: `Bearer ${at.token}`, ...headers } },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('end', () =>
            resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
          );
          response.on('error', reject);
        },
      );
      sent.on('error', reject);
      sent.end();
    },
  );
}

interface AskOptions {
  url?: string;
  method?: string;
  headers?: Record<string, string>;
}

test('reports are compressed with zstd or gzip, as the caller accepts', { tags: ['slow'] }, async () => {
  const at = await openReport();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 5 }]);
  await at.publish();
  const plain = await ask(at);
  expect(plain.headers).not.toHaveProperty('content-encoding');
  for (const [accepts, encoding, open] of [
    ['gzip, deflate, br', 'gzip', gunzipSync],
    ['gzip, zstd', 'zstd', zstdDecompressSync],
  ] as const) {
    const packed = await ask(at, { headers: { 'accept-encoding': accepts } });
    expect([packed.status, packed.headers['content-encoding']]).toEqual([200, encoding]);
    expect(packed.headers.vary).toMatch(/accept-encoding/i);
    expect(packed.body.length).toBeLessThan(plain.body.length / 2);
    expect(open(packed.body).toString()).toBe(plain.body.toString());
    // The packed and the plain answer are the same answer.
    expect(packed.headers.etag).toBe(plain.headers.etag);
    const again = { 'accept-encoding': accepts, 'if-none-match': String(plain.headers.etag) };
    expect((await ask(at, { headers: again })).status).toBe(304);
    const head = await ask(at, { method: 'HEAD', headers: { 'accept-encoding': accepts } });
    expect([head.status, head.headers.etag, head.body.length]).toEqual([200, plain.headers.etag, 0]);
    const csv = await ask(at, { url: `${path}&format=csv`, headers: { 'accept-encoding': accepts } });
    expect(open(csv.body).toString()).toMatch(/^day,device,/);
    const parquet = await ask(at, { url: `${path}&format=parquet`, headers: { 'accept-encoding': accepts } });
    expect(parquet.headers).not.toHaveProperty('content-encoding');
    expect(parquet.body.subarray(0, 4).toString()).toBe('PAR1');
    const described = await ask(at, { url: '/openapi.json', headers: { 'accept-encoding': accepts } });
    expect(described.headers['content-encoding']).toBe('gzip');
  }
});

test('an entity tag is weak, because it is the same for every compression', async () => {
  const at = await openReport();
  const { headers } = await ask(at);
  expect(headers.etag).toMatch(/^W\/"[\w-]{27}"$/);
  for (const tag of [headers.etag, String(headers.etag).slice(2), `"x", ${headers.etag}`, '*'])
    expect((await ask(at, { headers: { 'if-none-match': String(tag) } })).status).toBe(304);
  expect((await ask(at, { headers: { 'if-none-match': '"x"' } })).status).toBe(200);
});
