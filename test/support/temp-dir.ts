import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './shared.ts';

/** A new empty folder. It is removed when the test has finished. */
export function tempDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'wattline-test-'));
  atEnd(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
