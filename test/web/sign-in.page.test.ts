// @module-tag slow
import { expect } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { issueToken } from './support/issue-token.ts';
import { ASKING, askAgain, openPage, served, signIn, testPage } from './support/open-page.ts';

testPage('a pasted token signs in, and signing out forgets it', async () => {
  const { page, complaints } = await openPage();
  await page.goto('/');
  const field = page.getByLabel('API token');
  await field.fill('not a token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('This is not a token.');

  await field.fill(`Bearer ${served().token}`);
  await field.press('Enter');
  await page.getByRole('link', { name: 'Energy', exact: true }).waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'Energy', exact: true }).waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.reload();
  await field.waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  expect(complaints).toEqual([]);
});

testPage('a link with a token signs in, and the token leaves the address and the history', async () => {
  const { page } = await openPage();
  await page.goto(`/#token=${served().token}`);
  await page.locator('header.top').waitFor();
  expect(page.url()).not.toContain(served().token);
  await page.goto('/#/shop/energy');
  await page.goBack();
  expect(page.url()).not.toContain(served().token);
});

testPage('a token shows its own workgroups only', async () => {
  const { token } = await issueToken({
    shop: { permissions: ['search:read'] },
    empty: { permissions: ['data:write'] },
  });
  const { page } = await openPage();
  await signIn(page, 'home/overview', token);
  await expect.poll(() => page.locator('.workgroup').textContent()).toBe('shop');
  expect(await page.locator('.workgroup select').count()).toBe(0);

  const all = await openPage();
  await signIn(all.page, 'empty/overview');
  await expect
    .poll(() => all.page.locator('.workgroup option').allTextContents())
    .toEqual(['empty', 'home', 'island', 'mended', 'past', 'plants', 'shop', 'torn']);
  await all.page.getByText('No energy yet').waitFor();
});

testPage('a token that may not read is refused with the permission that it needs', async () => {
  const { token } = await issueToken({ shop: { permissions: ['data:write'] } });
  const { page } = await openPage();
  await page.goto(`/#token=${token}`);
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('search:read');
});

testPage('a token that is revoked leads back to the sign-in with words', async () => {
  const { token, revoke } = await issueToken({ shop: { permissions: ['search:read'] } });
  const { page } = await openPage();
  await signIn(page, 'shop/overview', token);
  await page.getByRole('heading', { name: 'Needs attention', exact: true }).waitFor();
  revoke();
  await expect
    .poll(async () => {
      await askAgain(page);
      return page.getByLabel('API token').count();
    }, ASKING)
    .toBe(1);
  expect(await page.getByRole('alert').textContent()).toBe(
    'Your token is not accepted any more: the token is not valid. Ask for a new one.',
  );
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});

testPage('a token that the service does not accept leads back to the sign-in with the reason', async () => {
  const scopes: Parameters<typeof issueToken>[0] = { shop: { permissions: ['search:read'] } };
  const agoMs = 2 * HOUR_MS;
  for (const [{ token }, reason] of [
    [await issueToken(scopes, { dataDir: tempDir() }), 'the token is not valid'],
    [await issueToken(scopes, { agoMs }), 'the token has expired'],
  ] as const) {
    const { page } = await openPage();
    // The clock of this machine is late, so the page does not see that the token has expired.
    await page.clock.setFixedTime(Date.now() - agoMs);
    await signIn(page, 'shop/overview', token);
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toBe(`Your token is not accepted any more: ${reason}. Ask for a new one.`);
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  }
  const { page } = await openPage();
  const { token } = await issueToken(scopes, { agoMs });
  await signIn(page, 'shop/overview', token);
  expect(await page.getByRole('alert').textContent()).toBe('This token has expired. Ask for a new one.');
});

testPage('a token of a device group shows its devices, and no word of the others', async () => {
  const { yesterday } = served();
  const { token } = await issueToken({ home: { permissions: ['search:read'], deviceGroups: ['roof'] } });
  const { page, complaints, answers } = await openPage();
  await signIn(page, 'home/overview', token);
  await page.getByRole('heading', { name: /^Last \d+ days$/ }).waitFor();
  const seen = await page.locator('main').textContent();
  expect(seen).not.toContain('grid meter');
  for (const view of [`energy?from=${yesterday}&to=${yesterday}`, `day?day=${yesterday}`, 'quality']) {
    await page.goto(`/#/home/${view}`);
    await page.locator('.column, .heat').first().waitFor();
    expect(await page.locator('main').textContent(), view).not.toContain('grid meter');
  }
  expect(answers.filter(({ status }) => status >= 400)).toEqual([]);
  expect(complaints).toEqual([]);
});
