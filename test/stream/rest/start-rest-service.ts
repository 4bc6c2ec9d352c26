import { expect } from 'vitest';
import type { ReadBody } from '../../../src/contract/messages.ts';
import { deviceId } from '../../support/messages.ts';
import { type Answer, startStreamService } from '../../support/stream-service.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';

export const SOLAR = '/api/v1/tables/acme/solar/latest';
export const ALL = '/api/v1/tables/acme/-/latest';

export async function setUp(startMs = TEST_START_MS) {
  const clock = createTestClock(startMs);
  const service = await startStreamService({
    clock,
    groups: { roof: [deviceId(1)], yard: [deviceId(2)] },
  });
  const log = await service.stream.logOf('acme');
  const token = await service.token();
  const read = (path: string, headers?: Record<string, string>) =>
    service.call(path, { token, ...(headers && { headers }) });
  return { ...service, clock, log, tokenText: token, read };
}

export function bodyOf(answer: Answer): ReadBody {
  expect(answer.status).toBe(200);
  return answer.body as unknown as ReadBody;
}

export function recordingLog(events: unknown[]) {
  const record = (fields: unknown, event?: string) => {
    events.push([event, fields]);
  };
  return {
    debug: record,
    info: record,
    warn: record,
    error: record,
    child: () => recordingLog(events),
  } as never;
}

export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('it did not happen within 4 s');
}
