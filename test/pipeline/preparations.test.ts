import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPreparations } from '../../src/pipeline/preparations.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assignmentOf } from './answers.ts';

/** A bucket whose requests `answer` answers, or leaves without an answer. */
async function bucketOf(answer: RequestListener) {
  const bucket = createServer(answer);
  await new Promise<void>((resolve) => bucket.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    bucket.close();
    bucket.closeAllConnections();
  });
  return {
    endpoint: `http://127.0.0.1:${(bucket.address() as AddressInfo).port}`,
    bucket: 'wattline',
    prefix: '',
    region: 'any',
    addressing: 'path' as const,
    accessKeyId: 'any',
    secretAccessKey: 'any',
  };
}

test('a workgroup is opened after its preparation has ended, even if that has failed', async () => {
  const seen: string[] = [];
  const asked = Promise.withResolvers<void>();
  const answers = Promise.withResolvers<void>();
  const s3 = await bucketOf(async (_, response) => {
    asked.resolve();
    await answers.promise;
    seen.push('answered');
    response.writeHead(403).end();
  });
  const preparations = createPreparations(silentLogger);
  const preparing = preparations.prepare({ ...assignmentOf(tempDir()), storage: { s3 } });
  const refused = expect(preparing).rejects.toMatchObject({ code: 'StorageForbidden' });
  await asked.promise;
  const opening = preparations.use('acme', async () => void seen.push('opened'));
  answers.resolve();
  await refused;
  await opening;
  expect(seen).toEqual(['answered', 'opened']);
});

test('a preparation that waits for the end of the one before it can be discarded', async () => {
  const asked = Promise.withResolvers<void>();
  let requests = 0;
  const s3 = await bucketOf(() => {
    requests += 1;
    asked.resolve();
  });
  const assignment = { ...assignmentOf(tempDir()), storage: { s3 } };
  const preparations = createPreparations(silentLogger);
  const discarded = { message: 'the workgroup is not taken over' };
  const first = expect(preparations.prepare(assignment)).rejects.toMatchObject(discarded);
  await asked.promise;
  const second = expect(preparations.prepare(assignment)).rejects.toMatchObject(discarded);
  await preparations.discard('acme');
  await first;
  await second;
  expect(requests).toBe(1);
});
