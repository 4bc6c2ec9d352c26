import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Browser {
  path: string;
  /** Libraries that the system lacks. */
  libraryPath: string | undefined;
}

/** The browser that `node .ci/prepare.mjs --browser` has found or fetched; undefined if there is none. */
export function findBrowser(): Browser | undefined {
  const named = process.env.WATTLINE_TEST_BROWSER;
  if (named) return { path: named, libraryPath: undefined };
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wattline', 'browser');
  const fetched = join(cache, 'usr/lib/chromium/chromium-headless-shell');
  if (existsSync(join(cache, 'complete'))) {
    const folders = globSync('**/*.so*', { cwd: cache }).map((file) => dirname(join(cache, file)));
    return { path: fetched, libraryPath: [...new Set(folders)].join(':') };
  }
  for (const name of ['chromium-headless-shell', 'chromium', 'google-chrome']) {
    try {
      const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      return { path, libraryPath: undefined };
    } catch {}
  }
  return undefined;
}
