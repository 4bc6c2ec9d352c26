import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { createPipelineStages } from '../../src/pipeline/pipeline-stages.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { readReplicaHead } from '../../src/replica/replica-commit.ts';
import { answerForShards } from '../../src/service/answer-for-shards.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { stageUpload } from '../../src/upload/stage-upload.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

test.skipIf(s3Missing)('the commit of an upload is announced before the upload is acknowledged', async () => {
  const { addressing: _, ...s3 } = await s3ForTests();
  const dataDir = tempDir();
  const config = configSchema.parse({
    dataDir,
    workgroups: [{ id: 'acme', meters: [{ code: 'PV' }] }],
    pipeline: { warehouseMemoryMegabytes: 256 },
    storage: { s3 },
  });
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  const status = createStatusBook({ dataDir, clock: systemClock, logger: silentLogger });
  const announced: number[] = [];
  const stages = createPipelineStages({
    config,
    workgroups: createWorkgroups(config),
    pipeline,
    status,
    clock: systemClock,
    logger: silentLogger,
    upstreamOf: () => ({ url: 'http://127.0.0.1:1', workgroup: 'acme', table: '-', transport: 'rest' }),
    onCommitted: (_workgroupId, sequence) => announced.push(sequence),
  });
  onTestFinished(() => stages.close());
  await stages.openShard('acme');
  const answers = answerForShards(pipeline, {
    wake: async () => true,
    noteChange: () => undefined,
    noteCommit: stages.noteCommit,
  });
  const row = { line: 2, meter: 'PV', start: '2026-01-01', end: '2026-01-31', energyWh: 5, scenario: 'P50' };
  const { path } = stageUpload(dataDir, { kind: 'budget', rows: [row] }, systemClock);
  const request = { path, name: 'budget.csv', actor: 'test', again: false };
  expect(await answers.run('acme', 'upload', request)).toMatchObject({ kind: 'stored' });
  const head = await readReplicaHead(workgroupStore(config.storage, 'acme')!);
  expect(head!.sequence).toBeGreaterThan(1);
  expect(announced.at(-1)).toBe(head!.sequence);
  expect(status.of('acme').bucket).toMatchObject({ sequence: head!.sequence });
});
