import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { parseHandoverMessage } from '../../jobs/handover-message.ts';
import { openBackend } from '../../jobs/queue-backend.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { HOME, readings, sendReadings, startBucketServices } from '../support/bucket-services.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';

/**
 * A worker that becomes the successor of every workgroup, says that it is preparing, and is never prepared.
 */
async function startLateSuccessor(redisUrl: string) {
  const config = { dataDir: tempDir(), queue: { backend: 'redis' as const, redisUrl } };
  const backend = await openBackend({ config, logger: silentLogger });
  onTestFinished(() => backend.close());
  const { leases, channel } = backend;
  const handedOver = Promise.withResolvers<string>();
  channel.onTold(async (text) => {
    const message = parseHandoverMessage(JSON.parse(text));
    if (message?.kind === 'handed-over') handedOver.resolve(message.workgroupId);
    if (message?.kind !== 'leaving') return;
    const { workerId: owner, workgroupId } = message;
    await leases.succeed(workgroupId);
    const tell = () => channel.tell(owner, JSON.stringify({ kind: 'preparing', workgroupId }));
    await tell();
    const telling = setInterval(() => void tell().catch(() => undefined), SECOND_MS);
    onTestFinished(() => clearInterval(telling));
  });
  // The owner counts it as living.
  await leases.survey();
  return { handedOver: handedOver.promise };
}

test.skipIf(s3Missing)(
  'a worker ends by itself in time although its successor is never prepared, the bucket hangs and requests wait',
  { timeout: 240_000 },
  async () => {
    let fate: Fate = 'pass';
    const services = await startBucketServices(({ endpoint }) => startLossyProxy(endpoint, () => fate));
    const energyStreams = [
      { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' } as const,
    ];
    const owner = await services.create({
      workgroups: [{ id: HOME, meters: [{ code: 'PV' }], energyStreams }],
    });
    await owner.start();
    await sendReadings(owner, readings(0, 10));
    await services.untilStored(10);
    const successor = await startLateSuccessor(services.redis.url);
    fate = 'hang';
    await sendReadings(owner, readings(10, 20));
    const waiting = [await beginUpload(owner), await beginMessages(owner)];
    // A process that takes too long kills itself, and then has no exit code.
    expect(await owner.stop()).toBe(0);
    expect(await successor.handedOver).toBe(HOME);
    const answers = await Promise.all(waiting.map(({ answer }) => answer));
    expect(answers).toEqual([503, 'no answer']);
  },
);

/** Begins an upload, which waits for the bucket. */
const beginUpload = (service: ServiceProcess) =>
  begin(
    service,
    'PUT',
    `orgs/${HOME}/budget-data?scenario=B`,
    'text/csv',
    'meter_code,period,energy_kwh\nPV,2026-05,1250\n',
  );

/** Begins a request with messages, and never sends the rest of its body. */
const beginMessages = (service: ServiceProcess) =>
  begin(service, 'POST', `tables/${HOME}/solar/messages`, 'application/json', undefined);

/** @returns when the request is on its way. Its answer is the status */
async function begin(
  { url, token }: ServiceProcess,
  method: string,
  path: string,
  type: string,
  body: string | undefined,
) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': type,
    'content-length': body?.length ?? 100,
  };
  const sent = request(`${url}/api/v1/${path}`, { method, headers });
  const answer = new Promise<number | 'no answer'>((resolve) => {
    sent.on('response', (found) => resolve(found.resume().statusCode!));
    sent.on('error', () => resolve('no answer'));
  });
  if (body === undefined) sent.flushHeaders();
  else sent.end(body);
  const [socket] = (await once(sent, 'socket')) as [Socket];
  if (socket.connecting) await once(socket, 'connect');
  return { answer };
}
