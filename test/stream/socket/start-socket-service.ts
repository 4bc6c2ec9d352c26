import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../../src/lib/logger.ts';
import type { Clock } from '../../../src/lib/time.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { deviceId } from '../../support/messages.ts';
import { type ClientOptions, connectTo } from '../../support/socket-client.ts';
import { type StreamService, startStreamService } from '../../support/stream-service.ts';
import { createTestClock } from '../../support/test-clock.ts';

export async function setUp(options: Parameters<typeof startStreamService>[0] = {}) {
  const clock = createTestClock();
  const service = await startStreamService({
    clock,
    socketTimer: clock.startTimer,
    groups: { roof: [deviceId(1)], yard: [deviceId(2)] },
    ...options,
  });
  const log = await service.stream.logOf('acme');
  const tokenText = await service.token();
  const connect = (rest: ClientOptions = {}) =>
    connectTo(service, { auth: { token: tokenText, workgroupId: 'acme' }, ...rest });
  return { ...service, clock, log, tokenText, connect };
}

/** The error of a refused connection. */
export async function refusal(
  service: StreamService,
  options: ClientOptions,
): Promise<Record<string, unknown>> {
  const error = await connectTo(service, options).catch(
    (reason: { data: Record<string, unknown> }) => reason,
  );
  if (!('data' in error)) throw new Error('the connection was not refused');
  return error.data;
}

export function memoryLog(clock: Clock): StreamLog {
  return createMemoryLog({ clock, retentionMs: 3_600_000, bytesMax: 256e6, logger: silentLogger });
}

export const request = (more: Record<string, unknown> = {}) => ({ requestId: randomUUID(), ...more });
