import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { exportFormats, exportRanges, exportReports } from '../../src/config/export-settings.ts';
import { columnTypes } from '../../src/report/rows/row-columns.ts';
import { openExportFixture } from '../exports/exports-fixture.ts';
import { startWebhookServer } from '../exports/webhook-server.ts';
import { storeDays } from '../publish/publish-fixture.ts';
import { blocksOf, pages } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';

const page = 'docs/exports.md';

test('the page on exports names every report, range, format and column', () => {
  const text = pages.get(page)! + pages.get('docs/http.md')!;
  const named = new Set([...text.matchAll(/`([a-z_0-9]+)`/g)].map(([, name]) => name!));
  const all = [...exportReports, ...exportRanges, ...exportFormats, ...Object.keys(columnTypes)];
  expect(all.filter((name) => !named.has(name))).toEqual([]);
});

test('whoever takes a webhook can check its signature with the code that is shown', {
  tags: ['slow'],
}, async () => {
  const path = join(tempDir(), 'verify.mjs');
  writeFileSync(path, blocksOf(page, 'js')[0]!);
  const { isFromWattline } = (await import(pathToFileURL(path).href)) as {
    isFromWattline(body: Buffer, signature: string | undefined, secret: string): boolean;
  };
  const webhook = await startWebhookServer();
  const secret = 'at-least-8-characters';
  const at = await openExportFixture([{ destination: { webhook: { url: webhook.url, secret } } }]);
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, energyWh: 5 }]);
  await at.publish();
  await at.exports.run('export1', { corrected: false }, new AbortController().signal);
  const { body, headers } = webhook.received[0]!;
  const signature = String(headers['wattline-signature']);
  expect(isFromWattline(body, signature, secret)).toBe(true);
  expect(headers['wattline-sha256']).toBe(createHash('sha256').update(body).digest('hex'));
  for (const [wrongBody, wrongSignature, wrongSecret] of [
    [Buffer.concat([body, Buffer.from(' ')]), signature, secret],
    [body, signature, 'another secret'],
    [body, undefined, secret],
  ] as const)
    expect(isFromWattline(wrongBody, wrongSignature, wrongSecret)).toBe(false);
});
