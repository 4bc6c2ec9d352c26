// @module-tag slow
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readings, sendReadings, startBucketServices } from '../support/bucket-services.ts';
import { isSoak } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import type { ProcessRole, ServiceProcess } from '../support/service-process.ts';
import { startUnconditionalProxy } from '../support/unconditional-proxy.ts';
import { until } from '../support/until.ts';

test.skipIf(s3Missing).each<ProcessRole>(['up', 'worker'])(
  'a store that ignores conditions is refused at the start, with the reason (%s)',
  async (role) => {
    const { create, store } = await startBucketServices(startUnconditionalProxy);
    const { code, stderr } = await startIn(await create({}, role), role);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^wattline: s3:\/\/.*\/\.service: the store ignores "If-None-Match: \*", so two writers could overwrite each other or data could be missed; use a store with the conditional writes and the listing of S3\n$/m,
    );
    // Nothing was claimed.
    expect(await store.list('').next()).toMatchObject({ done: true });
  },
);

test.skipIf(s3Missing)(
  'a wrong key of the bucket is named at the first start, and not only that revoked tokens cannot be read',
  async () => {
    const { create, s3 } = await startBucketServices();
    const { timeouts: _, ...settings } = s3;
    const service = await create({ storage: { s3: { ...settings, secretAccessKey: 'wrong' } } });
    const { code, stderr } = await startIn(service, 'up');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^wattline: .*SignatureDoesNotMatch/m);
  },
);

// require-stream.test.ts has what is asked of a worker.
test.runIf(isSoak && !s3Missing)(
  'a worker without a stream on its machine says what to do and claims nothing; it begins when the stream runs',
  async () => {
    const { create, head, untilStored } = await startBucketServices();
    const stream = await create({}, 'stream');
    const worker = await create({ http: { streamPort: stream.config.http.port } }, 'worker');
    await worker.start();
    await until('the worker names the problem', () => /start\.waiting/.test(worker.errorText()));
    expect(worker.errorText()).toMatch(/no stream answers at http:.*\(home\); run \\"wattline up\\"/);
    expect(await head()).toBeUndefined();
    await stream.start();
    await sendReadings(stream, readings(0, 10));
    await untilStored(10);
    expect(await worker.stop()).toBe(0);
  },
);

/** Starts a service that is refused. It needs no separate process. */
function startIn({ config }: ServiceProcess, role: ProcessRole) {
  return runCommand([role], { cwd: join(config.dataDir, '..') });
}
