// @module-tag slow
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type {
  AlertsAnswer,
  AuditEntries,
  Backfills,
  DeviceList,
  ExportList,
  QuarantineAnswer,
} from '../../src/web/facts/answers.ts';
import { until } from '../support/until.ts';
import { issueToken } from './support/issue-token.ts';
import { ASKING, ask, openPage, served, signIn, testPage, untilComplete } from './support/open-page.ts';

testPage('each stage of the pipeline works', async () => {
  const { page, complaints } = await openPage();
  await signIn(page, 'shop/pipeline');
  const chain = page.locator('.chain');
  await chain.waitFor();
  const words = (await chain.textContent())!;
  for (const name of ['Read', 'Land', 'Roll up', 'Publish', 'TransportREST']) expect(words).toContain(name);
  expect(await chain.locator('.state-word-good').count()).toBe(4);
  await page.getByText('No gap').waitFor();
  expect(complaints).toEqual([]);
});

testPage('the quarantine shows what was received, and says what trying again brings', async () => {
  const { page, complaints } = await openPage();
  await signIn(page, 'shop/pipeline');
  const part = page.locator('section', { has: page.getByRole('heading', { name: 'Quarantine' }) });
  const group = part.locator('.group').first();
  await group.locator('summary').click();
  const { groups } = await ask<QuarantineAnswer>('shop/quarantine');
  expect(groups).toHaveLength(1);
  expect(await group.textContent()).toContain(groups[0]!.reason.replaceAll('_', ' '));
  expect(await group.locator('.received').textContent()).toContain('broken');
  expect(await group.textContent()).toContain('garage');
  await part.getByRole('button', { name: 'Try all of it again' }).click();
  await part.getByText('None of it can be used yet').waitFor();
  expect(complaints).toEqual([]);
});

testPage('an open alert is listed, seen and snoozed by clicks, and a reader has no buttons', async () => {
  const alertsOf = () => ask<AlertsAnswer>('shop/alerts');
  const isDisk = ({ condition }: AlertsAnswer['alerts'][number]) => condition === 'disk';
  await until('the alert was sent', async () =>
    (await alertsOf()).alerts.some((alert) => isDisk(alert) && alert.sentTo.length > 0),
  );
  const { alerts, total, unseen } = await alertsOf();
  const disk = alerts.find(isDisk)!;
  const { page, complaints } = await openPage();
  await signIn(page, 'shop/pipeline');
  const card = page.getByRole('region', { name: 'Alerts' });
  const row = card.getByRole('row', { name: disk.text });
  await row.getByRole('cell', { name: 'sent', exact: true }).waitFor();
  expect(disk.text).toContain('free some space');
  expect(await card.locator('.sentence').textContent()).toMatch(
    new RegExp(`^${total}\\sopen alerts?, ${unseen} not seen`),
  );

  await row.getByRole('button', { name: 'Seen' }).click();
  await row.getByRole('cell', { name: 'seen', exact: true }).waitFor();
  expect(await row.getByRole('button').count()).toBe(0);
  const after = await alertsOf();
  expect(after.unseen).toBe(unseen - 1);
  expect(after.alerts.find(isDisk)!.seenBy).toContain('token:');

  await card.getByRole('button', { name: 'Send nothing for 12 hours' }).click();
  await card.getByText('All alerts are snoozed until').waitFor();
  const [snooze, ...others] = (await alertsOf()).snoozes;
  expect([snooze!.condition, others]).toEqual(['all', []]);
  const hours = (Date.parse(snooze!.until) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(11);
  expect(hours).toBeLessThanOrEqual(12);
  await card.getByRole('button', { name: 'Send again' }).click();
  await card.getByText('All alerts are snoozed until').waitFor({ state: 'detached' });
  expect((await alertsOf()).snoozes).toEqual([]);
  expect(complaints).toEqual([]);

  const { token } = await issueToken({ shop: { permissions: ['search:read'] } });
  const reader = await openPage();
  await signIn(reader.page, 'shop/pipeline', token);
  const theirs = reader.page.getByRole('region', { name: 'Alerts' });
  await theirs.getByRole('row', { name: disk.text }).waitFor();
  expect(await theirs.getByRole('button').count()).toBe(0);
  expect(reader.complaints).toEqual([]);
});

testPage('a backfill is previewed, started, and listed with its end', async () => {
  const { page, complaints } = await openPage();
  await signIn(page, 'island/pipeline');
  await page.getByRole('button', { name: 'Read the past again' }).click();
  const form = page.locator('.correction-form');
  await form.getByLabel('What').selectOption('archive');
  await form.getByRole('button', { name: 'Show what would be read' }).click();
  await expect.poll(() => form.textContent(), ASKING).toContain('Nothing is read yet');
  expect((await ask<Backfills>('island/backfills')).total, 'nothing is started by looking').toBe(0);
  await form.getByRole('button', { name: 'Start' }).click();
  await form.waitFor({ state: 'detached' });
  const row = page.getByRole('row', { name: /stored messages/ });
  await row.getByText('done').waitFor();
  const { backfills } = await ask<Backfills>('island/backfills');
  expect(backfills.map(({ source, state }) => [source, state])).toEqual([['archive', 'done']]);
  expect(complaints).toEqual([]);
});

testPage('an export is run by hand and shows its file', async () => {
  const { page, complaints } = await openPage();
  await signIn(page, 'shop/exports');
  const one = page.locator('.export');
  await one.getByText('It is run by hand.').waitFor();
  await one.getByRole('button', { name: 'Run now' }).click();
  const row = one.locator('tbody tr').first();
  await row.getByText('delivered').waitFor();
  const { exports } = await ask<ExportList>('shop/exports');
  const [run] = exports[0]!.runs;
  expect(await row.textContent()).toContain(run!.file!.name);
  expect(await row.locator('data').getAttribute('value')).toBe(String(run!.file!.energyWh));
  const folder = join(dirname(served().dataDir), 'reports');
  expect(existsSync(folder) && readdirSync(folder, { recursive: true }).join(' ')).toContain(run!.file!.name);
  expect(complaints).toEqual([]);
});

testPage('the configuration lists roles, tokens and who did what', async () => {
  const { token } = await issueToken({ home: { permissions: ['search:read'] } });
  expect(token).toBeTruthy();
  const { page, complaints } = await openPage();
  await signIn(page, 'home/configuration');
  await page.getByText(/^Devices and the roles of their sources/).click();
  const { devices } = await ask<DeviceList>('home/devices');
  const sources = devices.flatMap((device) => device.sources);
  const roles = page.getByRole('table', { name: 'Sources and their roles' });
  await expect.poll(() => roles.locator('tbody tr').count()).toBe(sources.length);
  expect(await roles.textContent()).toContain('grid import');
  const tokens = page.getByRole('table', { name: 'Tokens, newest first' });
  await tokens.waitFor();
  expect(await page.locator('main').textContent(), 'a token is never shown').not.toContain(token);
  const log = page.getByRole('table', { name: 'Audit log, newest first' });
  const { entries } = await ask<AuditEntries>('home/audit');
  await expect
    .poll(() => log.locator('tbody tr').count())
    .toBeGreaterThanOrEqual(Math.min(entries.length, 1));
  expect(complaints).toEqual([]);
});

testPage('a reader sees the state and no actions, and asks for nothing that is refused', async () => {
  const { token } = await issueToken({ shop: { permissions: ['search:read'] } });
  const { page, complaints, answers } = await openPage();
  await signIn(page, 'shop/pipeline', token);
  await page.locator('.chain').waitFor();
  await page.locator('.group').first().waitFor();
  expect(await page.getByRole('button', { name: /again|Cancel/ }).count()).toBe(0);
  await page.goto('/#/shop/exports');
  await page.locator('.export').waitFor();
  expect(await page.getByRole('button', { name: 'Run now' }).count()).toBe(0);
  await page.goto('/#/shop/configuration');
  await page.getByText(/^Devices and the roles/).waitFor();
  expect(await page.getByRole('heading', { name: 'Tokens' }).count()).toBe(0);
  expect(await page.getByRole('heading', { name: 'Who did what' }).count()).toBe(0);
  expect(answers.filter(({ status }) => status >= 400)).toEqual([]);
  expect(complaints).toEqual([]);
});

testPage('a token of a device group sees its part of every page, and no word of the others', async () => {
  const { token } = await issueToken({ home: { permissions: ['search:read'], deviceGroups: ['roof'] } });
  const watched = await openPage();
  const { page, complaints, answers } = watched;
  await signIn(page, 'home/devices', token);
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  answers.length = 0;
  for (const [view, shown] of [
    ['budgets', 'No site with meters'],
    ['exports', 'Closed days that have changed'],
    ['pipeline', 'Quarantine'],
    ['configuration', 'What is in force'],
  ]) {
    await page.goto(`/#/home/${view}`);
    await page.getByText(shown!).first().waitFor();
    await untilComplete(watched);
    expect(await page.locator('main').textContent(), view).not.toContain('grid meter');
  }
  expect(answers.filter(({ status }) => status >= 400)).toEqual([]);
  expect(complaints).toEqual([]);
});
