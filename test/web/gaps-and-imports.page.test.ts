// @module-tag slow
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Backfills, Gaps, Imports } from '../../src/web/facts/answers.ts';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';
import { ASKING, ask, askAgain, openPage, served, signIn, testPage } from './support/open-page.ts';

const cardOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

/** Waits until a page that asks again and again shows something. */
async function untilShown(page: Page, part: Locator): Promise<void> {
  await expect
    .poll(async () => {
      await askAgain(page);
      return part.count();
    }, ASKING)
    .toBeGreaterThan(0);
}

/** Where the bar of the only gap stands on its time line, in shares of the width. */
function placeOfGap(card: Locator) {
  return card.locator('.gap-line').evaluate((line) => {
    const [bar, ...others] = line.querySelectorAll('.gap');
    const part = (name: string) => Number(bar!.getAttribute(name)) / Number(line.getAttribute('width'));
    return {
      from: part('x'),
      to: part('x') + part('width'),
      isHatched: bar!.getAttribute('fill') !== null,
      others: others.length,
    };
  });
}

/** The line goes from a twentieth before the gap until now. */
function expectedPlace({ from, to }: Gaps['gaps'][number], nowMs: number) {
  const [fromMs, toMs] = [Date.parse(from!), Date.parse(to!)];
  const lengthMs = (nowMs - fromMs) * 1.05;
  return { from: 1 - (nowMs - fromMs) / lengthMs, to: 1 - (nowMs - toMs) / lengthMs };
}

testPage(
  'a gap whose messages are gone stands on the time line, and the page says that it is lost',
  async () => {
    const { page, complaints } = await openPage();
    const nowMs = Date.now();
    await page.clock.setFixedTime(nowMs);
    await signIn(page, 'torn/pipeline');
    const card = cardOf(page, 'Gaps of the stream');
    await card.locator('.gap-nothing').waitFor();
    const { gaps, total } = await ask<Gaps>('torn/gaps');
    expect([total, gaps[0]!.reason, gaps[0]!.available]).toEqual([1, 'expired', 'nothing']);
    // 20 messages were read before the worker stopped, and the next one is of an hour before this test.
    const lostMs = Date.parse(gaps[0]!.to!) - Date.parse(gaps[0]!.from!);
    expect(lostMs).toBeGreaterThan(2 * 3_600_000);
    const place = await placeOfGap(card);
    const expected = expectedPlace(gaps[0]!, nowMs);
    expect(place).toMatchObject({ isHatched: false, others: 0 });
    expect(place.from).toBeCloseTo(expected.from, 3);
    expect(place.to).toBeCloseTo(expected.to, 3);
    await card.getByRole('cell', { name: 'cannot be filled any more' }).waitFor();
    await page.getByRole('heading', { name: /gap of the stream/ }).waitFor();
    expect(complaints).toEqual([]);
  },
);

testPage('a gap that can be filled is hatched, is filled by a backfill, and is gone then', async () => {
  const { page, complaints } = await openPage();
  const nowMs = Date.now();
  await page.clock.setFixedTime(nowMs);
  await signIn(page, 'past/pipeline');
  const card = cardOf(page, 'Gaps of the stream');
  await card.locator('.gap-all').waitFor();
  const { gaps } = await ask<Gaps>('past/gaps');
  const place = await placeOfGap(card);
  const expected = expectedPlace(gaps[0]!, nowMs);
  expect(place).toMatchObject({ isHatched: true, others: 0 });
  expect(place.from).toBeCloseTo(expected.from, 3);
  expect(place.to).toBeCloseTo(expected.to, 3);

  await page.getByRole('button', { name: 'Read the past again' }).click();
  await page.getByRole('button', { name: 'Show what would be read' }).click();
  await page.getByText('Nothing is read yet').waitFor();
  await page.getByRole('button', { name: 'Start' }).click();
  const row = page.getByRole('row', { name: /the gaps of the stream/ });
  await untilShown(page, row.getByText('done'));
  const { backfills } = await ask<Backfills>('past/backfills');
  expect(backfills.map(({ state, messagesLanded }) => [state, messagesLanded])).toEqual([['done', 11]]);
  expect(await row.locator('td.number').textContent()).toBe('11');
  await untilShown(page, card.getByText('No gap'));
  expect(complaints).toEqual([]);
});

testPage(
  'a backfill that runs has its progress, is cancelled by a click, and is listed as cancelled',
  async () => {
    const { url, token } = served();
    const started = await fetch(`${url}/api/v1/orgs/home/backfills`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      // So slow that it cannot end before the test.
      body: JSON.stringify({ source: 'stream', from: '2020-01-01', messagesPerSecond: 1 }),
    });
    expect(started.status).toBe(202);
    const { page, complaints } = await openPage();
    await signIn(page, 'home/pipeline');
    const card = cardOf(page, 'Backfills');
    const row = card.getByRole('row', { name: /the stream/ });
    await row.locator('progress').waitFor();
    expect(await row.textContent()).toMatch(/\d\s%/);
    await card.getByText(/^1\sbackfill of 1 runs now\.$/).waitFor();
    await row.getByRole('button', { name: 'Cancel backfill 1' }).click();
    await untilShown(page, row.getByText('cancelled'));
    await card.getByText(/^1\sbackfill, none runs now\.$/).waitFor();
    expect(await row.getByRole('button').count()).toBe(0);
    const { backfills } = await ask<Backfills>('home/backfills');
    expect(backfills.map(({ id, state }) => [id, state])).toEqual([[1, 'cancelled']]);
    expect(complaints).toEqual([]);
  },
);

const ROWS = 100_000;

testPage(
  'an import is shown while it runs, and with its rows and what was refused when it has ended',
  async () => {
    const folder = tempDir();
    const times = Array.from({ length: ROWS }, (_, index) => new Date(1.7e12 + index * 60_000).toISOString());
    writeFileSync(
      join(folder, 'meter.csv'),
      `time,device,wh\n${times.map((time, index) => `${time},garage,${index}\n`).join('')}nonsense,garage,3\n`,
    );
    writeFileSync(
      join(folder, 'mapping.yaml'),
      'time: { column: time }\ndevice: { column: device }\nfields: { wh: wh }\n',
    );
    const { page, complaints } = await openPage();
    await signIn(page, 'torn/pipeline');
    const card = cardOf(page, 'Imports');
    await card.getByText('No imports').waitFor();
    // No energy stream reads this table.
    const files = [join(folder, 'meter.csv'), '--mapping', join(folder, 'mapping.yaml')];
    const command = ['import', ...files, '--workgroup', 'torn', '--table', 'unread'];
    let isRunning = true;
    const done = runCli(command, { cwd: dirname(served().dataDir) }).finally(() => {
      isRunning = false;
    });
    const seen: string[] = [];
    while (isRunning && seen.length === 0) {
      const answered = page.waitForResponse((response) => response.url().endsWith('/imports'));
      await askAgain(page);
      await answered;
      seen.push(...(await card.locator('.progress-words').allTextContents()));
    }
    expect(await done).toMatchObject({ code: 0 });
    expect(seen.join(' '), 'its progress was seen').toMatch(/\d\s(%|rows?)/);
    const row = card.getByRole('row', { name: /^meter\.csv/ });
    await row.getByText('imported').waitFor();
    const { imports } = await ask<Imports>('torn/imports');
    expect(imports).toMatchObject([{ rowsLanded: ROWS, rowsRejected: 1, rejected: { bad_time: 1 } }]);
    const cells = (await row.getByRole('cell').allTextContents()).slice(0, -1);
    expect(cells).toEqual(['unread', 'imported', '100,000', '1', 'bad time (1)']);
    expect(complaints).toEqual([]);
  },
);
