import { createHash, createHmac } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { deliverToFolder } from '../../src/exports/deliver-folder.ts';
import { deliverToS3 } from '../../src/exports/deliver-s3.ts';
import { fromDiskError } from '../../src/exports/disk-error.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { storeDays } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openExportFixture } from './exports-fixture.ts';
import { startS3Server } from './s3-server.ts';
import { startWebhookServer } from './webhook-server.ts';

const signal = new AbortController().signal;
const run = { corrected: false };
const day = { day: '2026-11-19', device: 1, energyWh: 12_345 };
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG',
  region: 'eu-west-1',
};

test('a file is put into a bucket once, signed, and looked at there', { tags: ['slow'] }, async () => {
  const s3 = await startS3Server(credentials);
  const at = await openExportFixture([
    {
      destination: {
        s3: { endpoint: s3.url, bucket: 'energy', prefix: 'acme/daily reports/', ...credentials },
      },
    },
  ]);
  await storeDays(at.shard, [day]);
  await at.publish();
  const { run: done } = await at.exports.run('export1', run, signal);
  const key = '/energy/acme/daily reports/export1_2026-11-19.csv';
  expect(s3.requests).toEqual([`PUT ${key}`, `HEAD ${key}`]);
  const stored = s3.objects.get(key)!.bytes;
  expect(stored.toString()).toContain(',12345,');
  expect(createHash('sha256').update(stored).digest('hex')).toBe(done.file!.sha256);
  expect(done.delivered!.to).toBe('s3://energy/acme/daily reports/export1_2026-11-19.csv');
  expect(readdirSync(at.ledger().outbox)).toEqual([]);
});

test('if a bucket refuses a file or has another one, the file stays in the outbox, and no error contains a secret', {
  tags: ['slow'],
}, async () => {
  const s3 = await startS3Server(credentials);
  const wrong = { ...credentials, secretAccessKey: 'not-the-secret-at-all' };
  const at = await openExportFixture([
    { destination: { s3: { endpoint: s3.url, bucket: 'energy', ...wrong } } },
    { destination: { s3: { endpoint: s3.url, bucket: 'energy', ...credentials } } },
  ]);
  await storeDays(at.shard, [day]);
  await at.publish();
  await expect(at.exports.run('export1', run, signal)).rejects.toThrow(
    's3://energy/export1_2026-11-19.csv: put was refused (HTTP 403, SignatureDoesNotMatch); the secretAccessKey is wrong',
  );
  expect(readdirSync(at.ledger().outbox)).toEqual(['export1_2026-11-19.csv']);
  expect(JSON.stringify(await at.ledger().runs())).not.toContain('not-the-secret');
  s3.spoilNext('size');
  await expect(at.exports.run('export2', run, signal)).rejects.toThrow('instead of the stored');
  s3.spoilNext('content');
  await at.clock.advance(MINUTE_MS);
  await at.work();
  expect((await at.ledger('export2').runs())[0]).toMatchObject({
    state: 'waiting',
    lastError: {
      message: expect.stringContaining('has other content than was stored; check whether another'),
    },
  });
  await at.clock.advance(2 * MINUTE_MS);
  await at.work();
  expect((await at.ledger('export2').runs())[0]).toMatchObject({ state: 'delivered', attempts: 3 });
});

test.each([
  { method: 'PUT', refused: 'put', advice: 'it needs s3:PutObject' },
  { method: 'HEAD', refused: 'get', advice: 'it needs s3:GetObject' },
])(
  'if a bucket forbids $method, the delivery is tried again, because somebody may give the permission',
  async ({ method, refused, advice }) => {
    const s3 = await startS3Server(credentials);
    s3.refuseWith(403, '', method);
    const path = join(tempDir(), 'day.csv');
    writeFileSync(path, 'day\n');
    const outgoing = {
      ...{ path, name: 'day.csv', bytes: 4, contentType: 'text/csv', idempotencyKey: 'day' },
      sha256: createHash('sha256').update('day\n').digest('hex'),
    };
    const destination = { endpoint: s3.url, bucket: 'energy', prefix: '', ...credentials };
    await expect(deliverToS3(destination, outgoing, signal)).rejects.toMatchObject({
      ...{ code: 'StorageForbidden', retryable: true },
      message: expect.stringContaining(
        `${refused} was refused (HTTP 403); the key has no permission: ${advice}`,
      ),
    });
  },
);

test('a webhook that fails gets the same bytes again with the same key and a signature', {
  tags: ['slow'],
}, async () => {
  const webhook = await startWebhookServer();
  const at = await openExportFixture([
    {
      destination: {
        webhook: {
          url: webhook.url,
          headers: { Authorization: 'Bearer hidden-token' },
          secret: 'shared-secret',
        },
      },
    },
  ]);
  await storeDays(at.shard, [day]);
  await at.publish();
  webhook.answers.push(503, 300, 403);
  await expect(at.exports.run('export1', run, signal)).rejects.toThrow('refuses the file with HTTP 503');
  // This file is made already, so energy that is published later does not change it.
  await storeDays(at.shard, [{ ...day, energyWh: 1 }]);
  await at.publish();
  const waits = [];
  const advice = new Set<string | undefined>();
  for (let minutes = 0; minutes < 10; minutes++) {
    await at.work();
    waits.push(webhook.received.length);
    advice.add((await at.ledger().runs())[0]!.lastError?.message.split('; ')[1]);
    await at.clock.advance(MINUTE_MS);
  }
  // After one minute, two and four.
  expect(waits).toEqual([1, 2, 2, 3, 3, 3, 3, 4, 4, 4]);
  expect([...advice]).toEqual([
    'see the log of the receiver',
    'redirects are not followed: configure the final address',
    'check the configured headers and the secret',
    undefined,
  ]);
  const { received } = webhook;
  expect(received.map(({ status }) => status)).toEqual([503, 300, 403, 204]);
  expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
  expect(new Set(received.map(({ headers }) => headers['idempotency-key']))).toEqual(
    new Set(['export1/2026-11-19']),
  );
  const { headers, body } = received.at(-1)!;
  expect(headers).toMatchObject({
    authorization: 'Bearer hidden-token',
    'content-type': 'text/csv; charset=utf-8; header=present',
    'wattline-sha256': createHash('sha256').update(body).digest('hex'),
    'content-disposition': 'attachment; filename="export1_2026-11-19.csv"',
    'wattline-signature': `sha256=${createHmac('sha256', 'shared-secret').update(body).digest('hex')}`,
  });
  expect(body.toString()).toContain(',12345,');
  const [ended] = await at.ledger().runs();
  expect(ended).toMatchObject({ state: 'delivered', attempts: 4 });
  for (const over of ['lastError', 'nextAttemptAt']) expect(ended).not.toHaveProperty(over);
  expect(JSON.stringify(ended)).not.toMatch(/hidden|shared-secret/);
});

test('a destination that does not answer is retried at growing intervals, and other exports continue', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([
    { id: 'unreachable', destination: { webhook: { url: 'http://127.0.0.1:1/' } }, schedule: '0 6 * * *' },
    { id: 'fine', schedule: '0 6 * * *' },
  ]);
  await storeDays(at.shard, [day, { ...day, day: '2026-11-20' }]);
  await at.publish();
  await at.work();
  await at.clock.advance(24 * HOUR_MS);
  await at.work();
  expect(await at.ledger('fine').runs()).toMatchObject([{ period: '2026-11-20', state: 'delivered' }]);
  const [waiting] = await at.ledger('unreachable').runs();
  expect(waiting).toMatchObject({
    state: 'waiting',
    attempts: 1,
    lastError: { code: 'DestinationUnreachable' },
  });
  expect(waiting!.lastError!.message).toBe('127.0.0.1:1 does not answer (ECONNREFUSED)');
  // One, two, four minutes and so on, and at most an hour.
  for (let attempt = 2; attempt <= 8; attempt++) {
    await at.clock.advance(HOUR_MS);
    await at.work();
  }
  const [last] = await at.ledger('unreachable').runs();
  expect(last!.attempts).toBe(8);
  expect(Date.parse(last!.nextAttemptAt!) - Date.parse(last!.lastError!.at)).toBe(HOUR_MS);
});

test('a run that fails does not hold up the later runs of its export', { tags: ['slow'] }, async () => {
  const webhook = await startWebhookServer();
  const at = await openExportFixture([
    { destination: { webhook: { url: webhook.url } }, schedule: '0 6 * * *' },
  ]);
  await storeDays(at.shard, [day, { ...day, day: '2026-11-20' }, { ...day, day: '2026-11-21' }]);
  await at.publish();
  await at.work();
  await at.clock.advance(48 * HOUR_MS);
  webhook.answers.push(503);
  await at.work();
  expect(await at.ledger().runs()).toMatchObject([
    { period: '2026-11-20', state: 'waiting' },
    { period: '2026-11-21', state: 'delivered' },
  ]);
});

test('a folder that cannot be written is reported and gets its file later, and a lost outbox is made again', {
  tags: ['slow'],
}, async () => {
  const at = await openExportFixture([{}]);
  await storeDays(at.shard, [day]);
  await at.publish();
  writeFileSync(at.target, 'a file where the folder should be');
  await expect(at.exports.run('export1', run, signal)).rejects.toThrow(
    `${at.target} cannot be written (EEXIST)`,
  );
  rmSync(join(at.ledger().outbox, 'export1_2026-11-19.csv'));
  rmSync(at.target);
  mkdirSync(at.target);
  await at.clock.advance(MINUTE_MS);
  await at.work();
  expect(readdirSync(at.target)).toEqual(['export1_2026-11-19.csv']);
  expect(await at.ledger().pending()).toEqual([]);
});

test('other users may read a delivered file, although the file of the service is private', async () => {
  const name = 'export1_2026-11-19.csv';
  const [path, target] = [join(tempDir(), name), tempDir()];
  writeFileSync(path, 'day\n', { mode: 0o600 });
  const outgoing = { path, name, bytes: 4, sha256: '', contentType: 'text/csv', idempotencyKey: name };
  const delivered = await deliverToFolder(target, outgoing);
  expect(delivered).toBe(join(target, name));
  expect(statSync(delivered).mode & 0o777).toBe(0o644);
});

test('a file that cannot get its name leaves nothing in the folder', async () => {
  const name = 'export1_2026-11-19.csv';
  const [path, target] = [join(tempDir(), name), tempDir()];
  writeFileSync(path, 'day\n');
  mkdirSync(join(target, name));
  const outgoing = { path, name, bytes: 4, sha256: '', contentType: 'text/csv', idempotencyKey: name };
  await expect(deliverToFolder(target, outgoing)).rejects.toMatchObject({ code: 'DestinationFailed' });
  expect(readdirSync(target)).toEqual([name]);
});

test.skipIf(!existsSync('/dev/full'))('a full disk is called so, whoever notices it', async () => {
  const at = await openExportFixture([{ format: 'json' }]);
  await storeDays(at.shard, [day]);
  await at.publish();
  const { outbox } = at.ledger();
  mkdirSync(outbox, { recursive: true });
  // Everything that is written to this device fails for want of room.
  symlinkSync('/dev/full', join(outbox, 'export1_2026-11-19.json.part'));
  await expect(at.exports.run('export1', run, signal)).rejects.toThrow(`the disk of ${outbox} is full`);
  expect(await at.ledger().runs()).toMatchObject([{ state: 'planned', lastError: { code: 'DiskFull' } }]);
  await at.clock.advance(MINUTE_MS);
  await at.work();
  expect(readFileSync(join(at.target, 'export1_2026-11-19.json'), 'utf8')).toContain('12345');

  const full = join(outbox, 'full.csv');
  symlinkSync('/dev/full', full);
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  const failed = await connection.run(`COPY (SELECT 1) TO '${full}'`).catch((error: unknown) => error);
  connection.closeSync();
  database.closeSync();
  expect(fromDiskError(new Error('wrapped', { cause: failed }), outbox)).toMatchObject({ code: 'DiskFull' });
});
