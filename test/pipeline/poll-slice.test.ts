import { expect, onTestFinished, test } from 'vitest';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { pollSlice } from '../../src/pipeline/poll-slice.ts';
import { tempDir } from '../support/temp-dir.ts';
import { answerOf, assignmentOf } from './answers.ts';

test('what has landed is reported, even if the next read fails', async () => {
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(pipeline.close);
  await pipeline.open(assignmentOf(tempDir()));
  const reported: number[] = [];
  let reads = 0;
  const slice = pollSlice({
    pipeline,
    source: {
      async fetch() {
        reads += 1;
        if (reads > 1) throw new TransientError('UpstreamFailed', 'the connection was reset');
        return { ...answerOf(0, 5), nextOffset: '5', upToDate: false };
      },
    },
    workgroupId: 'acme',
    signal: new AbortController().signal,
    onProgress: ({ messages }) => reported.push(messages),
  });
  await expect(slice).rejects.toThrow('the connection was reset');
  expect(reported).toEqual([5]);
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 5 });
});
