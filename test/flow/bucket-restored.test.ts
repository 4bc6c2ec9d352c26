import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { readings, sendReadings, startBucketServices, statusOf } from '../support/bucket-services.ts';
import { runCli } from '../support/run-cli.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';

test.skipIf(s3Missing)(
  'an owner that has nothing to do notices a restored commit',
  { timeout: 300_000 },
  async () => {
    const { create, head, untilStored, forgetStream } = await startBucketServices();
    const service = await create();
    await service.start();
    await sendReadings(service, readings(0, 10));
    await untilStored(10);
    const { sequence } = (await head())!;
    await sendReadings(service, readings(10, 30));
    await untilStored(30);
    await until('it has nothing to commit', async () => {
      const before = (await head())!.sequence;
      const seenAtMs = statusOf(service)?.bucket?.lastCommitAtMs ?? 0;
      await until('it has looked for changes', () => {
        const { bucket } = statusOf(service) ?? {};
        return (bucket?.lastCommitAtMs ?? 0) >= seenAtMs + 2_000;
      });
      return (await head())!.sequence === before;
    });
    const { ownerEpoch } = (await head())!;
    // The restored data stays without the messages that came later.
    await forgetStream();
    const cwd = dirname(service.config.dataDir);
    const restored = await runCli(['restore', '--at', String(sequence), '--json'], { cwd });
    expect(restored.code, restored.stderr).toBe(0);
    const epoch = BigInt(ownerEpoch) + 1n;
    await until('a new owner continues', async () => BigInt((await head())!.ownerEpoch) > epoch);
    expect((await head())!.totals.messages).toBe(10);
    await until('it is open', () => statusOf(service)?.storedMessages === 10);
  },
);
