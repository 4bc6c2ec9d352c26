import { expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { createExportStage } from '../../src/service/export-stage.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

/** The stage of a worker that has just started, without an export. */
function setUp() {
  const clock = createTestClock();
  const dataDir = tempDir();
  const config = configSchema.parse({ dataDir, workgroups: [{ id: 'home' }] });
  const status = createStatusBook({ dataDir, clock, logger: silentLogger });
  onTestFinished(() => status.close());
  const stage = createExportStage({
    config,
    workgroups: createWorkgroups(config),
    audit: createAudit({ dataDir, actor: 'worker', clock }),
    bucket: undefined,
    status,
    clock,
    logger: silentLogger,
  });
  return { clock, status, run: () => stage.run('home', new AbortController().signal) };
}

test('exports wait until the workgroup is at the end of its stream and has published', async () => {
  const { clock, status, run } = setUp();
  expect(await run()).toEqual({ more: true });
  status.update('home', 'poll', { upToDate: true });
  expect(await run(), 'what has landed is not published').toEqual({ more: true });
  status.update('home', 'publish', { lastSuccessAtMs: clock.now() });
  expect(await run()).toEqual({ more: false });
  status.update('home', 'poll', { upToDate: false });
  expect(await run(), 'the stream has more').toEqual({ more: true });
});

test('exports wait for a stream that is behind for at most 10 minutes after the start', async () => {
  const { clock, run } = setUp();
  clock.leap(10 * MINUTE_MS - 1);
  expect(await run()).toEqual({ more: true });
  clock.leap(1);
  expect(await run()).toEqual({ more: false });
});
