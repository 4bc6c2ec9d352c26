import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  backoffMs,
  defaultBackoff,
  parseRetryAfter,
  systemWaiting,
  type Waiting,
  withRetries,
} from '../../src/client/backoff.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';

function fakeWaiting(random = 0.5): Waiting & { sleptMs: number[] } {
  const sleptMs: number[] = [];
  return {
    sleptMs,
    clock: { now: () => 0 },
    random: () => random,
    sleep: async (ms) => void sleptMs.push(ms),
  };
}

describe('backoffMs', () => {
  test('draws from 0 to a maximum that doubles up to a limit', () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8, 99].map((attempt) => backoffMs(attempt, () => 1));
    expect(ceilings).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(backoffMs(5, () => 0)).toBe(0);
  });

  test('waits at least as long as the server requires, up to a limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.integer({ min: 0, max: 1e9 }),
        (attempt, random, retryAfterMs) => {
          const ms = backoffMs(attempt, () => random, defaultBackoff, retryAfterMs);
          expect(ms).toBeGreaterThanOrEqual(Math.min(retryAfterMs, defaultBackoff.retryAfterMsMax));
          expect(ms).toBeLessThanOrEqual(defaultBackoff.retryAfterMsMax + defaultBackoff.baseMs);
        },
      ),
    );
  });
});

test('Retry-After is a number of seconds or a date', () => {
  const nowMs = Date.parse('2026-11-20T10:00:00Z');
  expect(parseRetryAfter(' 3 ', nowMs)).toBe(3_000);
  expect(parseRetryAfter('Fri, 20 Nov 2026 10:00:30 GMT', nowMs)).toBe(30_000);
  expect(parseRetryAfter('Fri, 20 Nov 2026 09:00:00 GMT', nowMs)).toBe(0);
  for (const text of [undefined, '', '-1', '1.5', 'soon', '2026-11-20', '99999999999999']) {
    expect(parseRetryAfter(text, nowMs)).toBeUndefined();
  }
});

describe('withRetries', () => {
  test('repeats until it succeeds, with waits in between', async () => {
    const waiting = fakeWaiting();
    let tries = 0;
    const result = await withRetries(
      async () => {
        if (++tries < 4)
          throw new TransientError('Busy', 'busy', { details: tries === 2 ? { retryAfterMs: 9_000 } : {} });
        return 'done';
      },
      { waiting },
    );
    expect(result).toBe('done');
    expect(waiting.sleptMs).toEqual([125, 9_125, 500]);
  });

  test('does not repeat failures that will not pass', async () => {
    let tries = 0;
    const failing = withRetries(
      async () => {
        tries++;
        throw new TerminalError('Forbidden', 'no');
      },
      { waiting: fakeWaiting() },
    );
    await expect(failing).rejects.toMatchObject({ code: 'Forbidden' });
    expect(tries).toBe(1);
  });

  test('gives up after a bounded number of attempts and reports why', async () => {
    let tries = 0;
    const failing = withRetries(
      async () => {
        tries++;
        throw new Error('socket hang up');
      },
      { waiting: fakeWaiting() },
    );
    await expect(failing).rejects.toMatchObject({
      code: 'RetriesExhausted',
      message: expect.stringContaining('socket hang up'),
    });
    expect(tries).toBe(defaultBackoff.attemptsMax);
  });

  test('ends during a wait if it is aborted, with the reason', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const failing = withRetries(async () => Promise.reject(new Error('x')), {
      waiting: systemWaiting,
      backoff: { ...defaultBackoff, baseMs: 1e9, maxMs: 1e9 },
      signal: controller.signal,
      onRetry: () => controller.abort(reason),
    });
    await expect(failing).rejects.toBe(reason);
  });

  test('ends with the reason if it is aborted during its last attempt', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const failing = withRetries(
      async () => {
        controller.abort(reason);
        throw new Error('socket hang up');
      },
      { waiting: fakeWaiting(), backoff: { ...defaultBackoff, attemptsMax: 1 }, signal: controller.signal },
    );
    await expect(failing).rejects.toBe(reason);
  });
});
