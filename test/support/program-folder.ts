import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the project. */
export const programRoot = join(import.meta.dirname, '..', '..');
/**
 * Built programs. They are inside the project, because a program looks for `sql` and `package.json` in the
 * folders above it.
 */
export const programBuilds = join(programRoot, 'dist-test');
/** The program, the modules that run as threads or processes of it, and workers of tests. */
export const programEntries = [
  'src/cli.ts',
  'src/pipeline/thread.ts',
  'src/upload/read-thread.ts',
  'src/stream/ingest/encode-thread.ts',
  'src/exports/xlsx-thread.ts',
  'jobs/embedded-queue-process.ts',
  'test/support/worker-process.ts',
  'test/worker-rpc/owner-child.ts',
  'test/worker-rpc/remote-worker-child.ts',
];
/** What the entries of tests import, and what builds them. */
const ownParts = ['test/pipeline/answers.ts', 'test/support/messages.ts', 'test/support/build-program.ts'];
/** The folder for the built program of these sources. Each change of a source has its own folder. */
export function programFolder(): string {
  const hash = createHash('sha256');
  const sources = globSync('{src,jobs}/**/*.{ts,json}', { cwd: programRoot, exclude: ['src/web/**'] }).sort();
  for (const file of [...sources, ...programEntries, 'package-lock.json', ...ownParts])
    hash.update(file).update(readFileSync(join(programRoot, file)));
  return join(programBuilds, hash.digest('hex').slice(0, 16));
}
