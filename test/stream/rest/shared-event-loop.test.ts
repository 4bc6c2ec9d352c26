// @module-tag slow
import { expect, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { wideTelemetry } from '../../support/messages.ts';
import { startStreamService } from '../../support/stream-service.ts';
import { tempDir } from '../../support/temp-dir.ts';

const READS = 60;

test('reads that look through much of the log let other callers pass', async () => {
  const path = tempDir();
  // The service closes a log of which much was read, and opens it again.
  const openLog = () =>
    openLmdbLog({ path, cacheBytesMax: 1, retentionMs: 3_600_000, clock: systemClock, logger: silentLogger });
  const log = openLog();
  const messages = wideTelemetry(4_000);
  for (let round = 0; round < 24; round++) await log.append(encodeMessages(messages, 'solar'));
  await log.close();
  const service = await startStreamService({ openLog });
  const [busy, other] = [await service.token(), await service.token()];
  const ask = async (path: string, token: string) => {
    const answer = await service.call(`/api/v1/tables/acme/${path}`, { token });
    expect(answer.status).toBe(200);
    return answer;
  };
  // Opens the log.
  await ask('solar/latest?limit=1', other);

  let answered = 0;
  const reads = Array.from({ length: READS }, async () => {
    const answer = await ask('empty/latest', busy);
    answered++;
    return answer.body;
  });
  // The first of them shows that the service has all of them.
  const [first] = await Promise.all([reads[0]!, ask('solar/latest?limit=1', other)]);
  expect(answered).toBeLessThan(READS / 2);
  expect((await ask('solar/latest?limit=1', other)).body).toMatchObject({ count: 1 });
  expect(answered).toBeLessThan(READS / 2);
  // Each of them looked through a part of the log, and the next read continues there.
  expect(first).toMatchObject({ count: 0, upToDate: false });
  expect(new Set((await Promise.all(reads)).map(({ nextOffset }) => nextOffset)).size).toBe(1);
});
