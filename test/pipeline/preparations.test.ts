import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPreparations } from '../../src/pipeline/preparations.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assignmentOf } from './answers.ts';

test('a workgroup is opened after its preparation has ended, even if that has failed', async () => {
  const seen: string[] = [];
  const asked = Promise.withResolvers<void>();
  const answers = Promise.withResolvers<void>();
  const bucket = createServer(async (_, response) => {
    asked.resolve();
    await answers.promise;
    seen.push('answered');
    response.writeHead(403).end();
  });
  await new Promise<void>((resolve) => bucket.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void bucket.close());
  const s3 = {
    endpoint: `http://127.0.0.1:${(bucket.address() as AddressInfo).port}`,
    bucket: 'wattline',
    prefix: '',
    region: 'any',
    addressing: 'path' as const,
    accessKeyId: 'any',
    secretAccessKey: 'any',
  };
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
