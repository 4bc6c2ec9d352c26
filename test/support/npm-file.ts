import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';

/** The script of npm, which Node runs. */
export function npmFile(): string {
  return realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
}
