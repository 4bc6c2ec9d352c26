// @module-tag slow
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import lockFile from '../../package-lock.json' with { type: 'json' };
import { pageNames } from '../../src/web/app/address.ts';
import { npmFile } from '../support/npm-file.ts';
import { programRoot } from '../support/program-folder.ts';
import { runCli } from '../support/run-cli.ts';
import { createUpProcess } from '../support/up-process.ts';
import { openPage, signIn, testPage } from './support/open-page.ts';

/**
 * Builds and packs the project, and unpacks it with its dependencies, which are links: an installation would
 * take most of a minute.
 */
async function installPackage(folder: string): Promise<string> {
  const checkout = join(folder, 'checkout');
  mkdirSync(checkout);
  const bin = join(programRoot, 'node_modules', '.bin');
  const compile = [
    '-p',
    'tsconfig.build.json',
    '--noCheck',
    '--declaration',
    'false',
    '--sourceMap',
    'false',
  ];
  // `npm run check` has checked the types.
  execFileSync(join(bin, 'tsc'), [...compile, '--outDir', join(checkout, 'dist')], { cwd: programRoot });
  const kept = packageFile.files.filter((name) => name !== 'dist' && !name.startsWith('!'));
  for (const name of ['package.json', 'LICENSE', ...kept])
    cpSync(join(programRoot, name), join(checkout, name), { recursive: true });
  const packed = await runCli(['pack', '--pack-destination', folder], {
    cwd: checkout,
    script: npmFile(),
    environment: { HOME: folder },
  });
  if (packed.code !== 0) throw new Error(packed.stderr);
  const modules = join(folder, 'app', 'node_modules');
  const installed = join(modules, 'wattline');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, packed.stdout.trim()), '-C', installed, '--strip-components=1']);
  for (const [path, facts] of Object.entries(lockFile.packages)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || 'dev' in facts) continue;
    mkdirSync(join(modules, name, '..'), { recursive: true });
    symlinkSync(join(programRoot, path), join(modules, name));
  }
  return installed;
}

testPage(
  'an installed package serves every page, and they go on by themselves when their service was gone',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattline-test-package-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const installed = await installPackage(folder);
    expect(readdirSync(installed)).toEqual(
      expect.arrayContaining(['dist', 'dist-web', 'docs', 'sql', 'lua', 'README.md']),
    );
    expect(readdirSync(join(installed, 'docs')), 'pictures are not in the package').not.toContain('images');

    const config = { dataDir: './data', workgroups: [{ id: 'home' }] };
    const program = join(installed, packageFile.bin.wattline);
    const service = await createUpProcess(join(folder, 'app'), config, 'up', {}, program);
    onTestFinished(service.kill);
    await service.start();
    const { page, complaints } = await openPage({ baseURL: service.url });
    await page.clock.install();
    await signIn(page, 'home/overview', service.token);
    await page.getByText('No energy yet').waitFor();

    await page.clock.install();
    await page.getByRole('link', { name: 'Pipeline' }).click();
    await page.locator('.chain').waitFor();
    await service.kill();
    const untilCount = (part: Locator, count: number) =>
      expect
        .poll(async () => {
          await page.clock.runFor(60_000);
          return part.count();
        })
        .toBe(count);
    await untilCount(page.locator('.stale'), 1);
    expect(await page.locator('.stale').textContent()).toContain('cannot be reached');
    await page.locator('.chain').waitFor();
    // A page that has nothing yet says so too.
    await page.getByRole('link', { name: 'Exports' }).click();
    await page
      .getByRole('alert')
      .getByText('The service cannot be reached', { exact: true })
      .first()
      .waitFor();
    await service.start();
    await untilCount(page.getByRole('alert'), 0);
    await page.getByText('No closed day has changed').waitFor();
    await page.getByRole('link', { name: 'Pipeline' }).click();
    await untilCount(page.locator('.stale'), 0);
    for (const view of pageNames) {
      await page.goto(`/#/home/${view}`);
      await page.locator('nav.pages [aria-current]').waitFor();
      await expect
        .poll(() => page.locator('main :is(.loading, .failed, .stale)').count(), { message: view })
        .toBe(0);
      expect(await page.locator('main h1').count(), view).toBe(1);
    }
    expect(complaints).toEqual([]);
  },
);
