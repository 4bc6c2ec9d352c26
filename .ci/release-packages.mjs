// The packages that a release has at run time: those of package-lock.json without the ones for development, and those in the files of the web page.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Built into the files of the page, so they are dependencies for development. */
const IN_PAGE = ['preact'];

export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** In the order of their names: the path from the root, the name, the version, and what package-lock.json has about it. */
export function releasePackages() {
  return Object.entries(readJson(join(root, 'package-lock.json')).packages)
    .filter(([path]) => path !== '')
    .map(([path, locked]) => ({ path, name: nameOf(path), version: locked.version, locked }))
    .filter(({ name, locked }) => !locked.dev || IN_PAGE.includes(name))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
