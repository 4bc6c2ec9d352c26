import { expect } from 'vitest';
import type { ReadBody } from '../../../src/contract/messages.ts';
import { deviceId } from '../../support/messages.ts';
import { type Answer, type CallOptions, startStreamService } from '../../support/stream-service.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';

export const SOLAR = '/api/v1/tables/acme/solar/latest';
export const ALL = '/api/v1/tables/acme/-/latest';

/**
 * @param timers for held reads: the timers of the platform, or timers that fire when a test advances the
 * clock
 */
export async function setUp(startMs = TEST_START_MS, timers: 'platform' | 'clock' = 'platform') {
  const clock = createTestClock(startMs);
  const service = await startStreamService({
    clock,
    groups: { roof: [deviceId(1)], yard: [deviceId(2)] },
    ...(timers === 'clock' && { streamTimer: clock.startTimer }),
  });
  const log = await service.stream.logOf('acme');
  const token = await service.token();
  const read = (path: string, headers?: Record<string, string>) =>
    service.call(path, { token, ...(headers && { headers }) });
  return { ...service, clock, log, tokenText: token, read };
}

/** Reads that end only by an event or when a test advances the clock. */
export async function setUpHolding() {
  const service = await setUp(TEST_START_MS, 'clock');
  const { call, clock, stream, tokenText } = service;
  return {
    ...service,
    /** Begins a read that everything in the log does not fill. @returns once it is held */
    async hold(path: string, { headers, signal }: Pick<CallOptions, 'headers' | 'signal'>) {
      const before = clock.timersPending;
      const answer = call(path, { token: tokenText, headers: headers ?? {}, ...(signal && { signal }) });
      // For the check of the token, for the longest wait, and for the time without a message.
      await until(() => clock.timersPending === before + 3);
      return { answer };
    },
    heldReads: () => stream.counts()[0]!.heldReads,
  };
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
