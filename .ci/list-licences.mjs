// Lists every package that a release has at run time, with its version and its licence, and ends with 1 if a licence is not allowed. The licence is
// that of the installed package.json; for a package of another platform, which is not installed, that of package-lock.json or of the same package here.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, releasePackages, root } from './release-packages.mjs';

/** Licences (SPDX) that ask for at most a notice. */
const ALLOWED = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
]);

const packages = releasePackages();
for (const one of packages) {
  const licence = licenceOf(one);
  process.stdout.write(`${one.name} ${one.version} ${licence}\n`);
  if (ALLOWED.has(licence)) continue;
  process.stderr.write(`${one.name}: the licence "${licence}" is not allowed\n`);
  process.exitCode = 1;
}

function licenceOf({ path, name, locked }) {
  const file = join(root, path, 'package.json');
  if (existsSync(file)) return ofPackage(readJson(file));
  if (locked.license !== undefined) return textOf(locked.license);
  return locked.optional ? licenceOfSibling(name) : 'unknown';
}

/** The packages of a library for other platforms have its licence: `@lmdb/lmdb-darwin-x64` that of `@lmdb/lmdb-linux-x64`. */
function licenceOfSibling(name) {
  const family = name.replace(/-(darwin|linux|win32|freebsd|android)-.*$/, '');
  const siblings = packages.filter((one) => one.name.startsWith(`${family}-`));
  const file = siblings.map(({ path }) => join(root, path, 'package.json')).find(existsSync);
  return file === undefined ? 'unknown' : ofPackage(readJson(file));
}

/** Old packages have a list. */
function ofPackage({ license, licenses }) {
  return textOf(license ?? licenses?.[0]);
}

function textOf(license) {
  return typeof license === 'string' ? license : String(license?.type ?? 'unknown');
}
