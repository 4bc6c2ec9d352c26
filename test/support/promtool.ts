import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
/** `npm test` unpacks it there if the machine has none (.ci/prepare.mjs). */
const cached = join(cache, 'wattline', 'prometheus', 'usr', 'bin', 'promtool');

/** The tool that checks metrics and rules of Prometheus. Undefined if there is none. */
export const promtool = [process.env.WATTLINE_TEST_PROMTOOL, 'promtool', cached].find(
  (command) =>
    command !== undefined &&
    (command !== cached || existsSync(cached)) &&
    spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0,
);
/**
 * The reason is also written to standard error, because some reporters do not show why a test was skipped.
 */
export const PROMTOOL_MISSING =
  'no promtool: apt-get install prometheus, or name one in WATTLINE_TEST_PROMTOOL';

/** Runs promtool. @returns its exit code, and everything that it has printed */
export function runPromtool(args: readonly string[], input = ''): { code: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(promtool!, args, { input, encoding: 'utf8' });
  return { code: status, text: `${stdout}${stderr}` };
}
