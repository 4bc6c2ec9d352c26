import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { createPipeline, type Pipeline } from '../../src/pipeline/pipeline.ts';
import { createPipelineStages } from '../../src/pipeline/pipeline-stages.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

/** The stages over a warehouse. Each of its roll-ups takes 4 s. @param calls after which nothing is left */
function stagesOfSlowRollUps(calls: number) {
  const dataDir = tempDir();
  const config = configSchema.parse({ dataDir, workgroups: [{ id: 'acme' }] });
  const clock = createTestClock();
  const status = createStatusBook({ dataDir, clock, logger: silentLogger });
  let batchId = 0;
  const run = async () => {
    clock.leap(4 * SECOND_MS);
    batchId += 1;
    return { batchId: BigInt(batchId), readings: 10, rejected: 1, days: 2, more: batchId < calls };
  };
  const stages = createPipelineStages({
    config,
    workgroups: createWorkgroups(config),
    pipeline: {
      ...createPipeline({ logLevel: 'silent', logger: silentLogger }),
      run: run as Pipeline['run'],
    },
    status,
    clock,
    logger: silentLogger,
    upstreamOf: () => ({ url: 'http://127.0.0.1:1', workgroup: 'acme', table: '-', transport: 'rest' }),
  });
  onTestFinished(() => stages.close());
  return { status, rollUp: (signal = new AbortController().signal) => stages.rollup('acme', signal) };
}

test('a run of the roll-up begins no call after 10 s, leaves the rest to the next run, and adds up its counts', async () => {
  const { status, rollUp } = stagesOfSlowRollUps(5);
  expect(await rollUp()).toEqual({ more: true, counts: { readings: 30, rejected: 3, days: 6 } });
  expect(await rollUp()).toEqual({ more: false, counts: { readings: 20, rejected: 2, days: 4 } });
  expect(status.of('acme').rollup).toMatchObject({ batchId: '5', rejected: 5 });
});

test('a run of the roll-up that is stopped begins no call', async () => {
  const { rollUp } = stagesOfSlowRollUps(5);
  expect(await rollUp(AbortSignal.abort())).toMatchObject({ counts: { readings: 0 } });
});
