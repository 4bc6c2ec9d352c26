import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openLmdbLog } from '../../src/stream/log-lmdb.ts';
import { testLogConformance } from './log-conformance.ts';

testLogConformance({
  name: 'LMDB log',
  persists: true,
  createPlace() {
    const path = mkdtempSync(join(tmpdir(), 'wattline-log-'));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    return {
      open: async (options) => openLmdbLog({ ...options, path }),
      destroy: async () => rmSync(path, { recursive: true, force: true }),
    };
  },
});
