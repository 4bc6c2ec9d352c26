import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
// @ts-expect-error it is plain JavaScript, because it runs before packages are installed
import { buildPage } from '../../.ci/build-page.mjs';
// @ts-expect-error it is plain JavaScript, like the script above
import { pagePackages } from '../../.ci/release-packages.mjs';
import packageFile from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..', '..');
const BYTES_MAX = 100_000;

test('the built page is small, and has nothing inline and nothing from elsewhere', () => {
  expect(buildPage(root)).toBe(true);
  const folder = join(root, 'dist-web');
  const files = globSync('assets/*.{js,css}', { cwd: folder });
  expect(files.length).toBeGreaterThanOrEqual(2);
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0);
  expect(bytes).toBeLessThan(BYTES_MAX);
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<style|style=|onload=|https?:\/\//);
  for (const [, attributes, inside] of html.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)) {
    expect(attributes).toContain('src="./assets/');
    expect(inside).toBe('');
  }
  const licenses = readFileSync(join(folder, 'licenses.md'), 'utf8');
  const packages = Array.from(licenses.matchAll(/^## (\S+) - /gm), ([, name]) => name);
  expect(packages, 'the packages that a release names').toEqual(pagePackages);
  expect(packageFile.files, 'an installed package contains it').toContain('dist-web');
});
