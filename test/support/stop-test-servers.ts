import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { stopRadosgw } from './radosgw.ts';

/** Runs once after all test files: ends the servers that they shared, and removes all files of the run. */
export async function teardown(): Promise<void> {
  const run = process.env.WATTLINE_TEST_RUN;
  if (run === undefined) return;
  await stopRadosgw(join(run, 'radosgw'));
  rmSync(run, { recursive: true, force: true });
}
