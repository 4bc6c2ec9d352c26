// Builds the web page, src/web, into dist-web, if its sources or the packages have changed. It takes a second.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns false if it could not be built; the reason is on standard error */
export function buildPage(root) {
  const folder = join(root, 'src', 'web');
  const built = join(root, 'dist-web', '.sources');
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  for (const file of filesBelow(folder)) hash.update(file).update(readFileSync(join(folder, file)));
  const sources = hash.digest('hex');
  if (existsSync(built) && readFileSync(built, 'utf8') === sources) return true;
  const bin = join(root, 'node_modules', '.bin');
  const done = spawnSync(join(bin, 'node'), [join(bin, 'vite'), 'build', folder, '--logLevel', 'warn'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    // A test that builds the page has another mode, and would build it for development.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (done.status === 0) writeFileSync(built, sources);
  return done.status === 0;
}

function filesBelow(folder, prefix = '') {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const name = `${prefix}${entry.name}`;
      return entry.isDirectory() ? filesBelow(join(folder, entry.name), `${name}/`) : [name];
    })
    .sort();
}
