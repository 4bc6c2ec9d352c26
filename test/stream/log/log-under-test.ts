import { expect, onTestFinished } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { type Offset, offsetMs } from '../../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import type { Clock } from '../../../src/lib/time.ts';
import type { LogReadOutcome, ReadFilter, StreamLog } from '../../../src/stream/log/stream-log.ts';
import { decodeParts, deviceId } from '../../support/messages.ts';
import { createTestClock } from '../../support/test-clock.ts';

export interface LogUnderTest {
  clock: Clock;
  retentionMs: number;
  cacheBytesMax: number;
  logger: Logger;
}

/** How the suite opens one implementation. */
export interface LogImplementation {
  name: string;
  /** A place for one log, new for each test. */
  createPlace(): {
    /**
     * Opens the log of this place. After a close it opens the same log again, if the implementation persists.
     */
    open(options: LogUnderTest): Promise<StreamLog>;
    /** Deletes the log of this place. The next `open` creates a new one. */
    destroy(): Promise<void>;
  };
  persists: boolean;
}

export const RETENTION_MS = 3_600_000;
export const SEQUENCES_PER_MS = 1n << 20n;

/** Opens a log of the implementation for a test. */
export function createLogSetUp(implementation: LogImplementation) {
  return async (options: Partial<Omit<LogUnderTest, 'clock'>> = {}) => {
    const clock = createTestClock();
    const place = implementation.createPlace();
    const settings = {
      clock,
      retentionMs: RETENTION_MS,
      cacheBytesMax: 1e6,
      logger: silentLogger,
      ...options,
    };
    let log = await place.open(settings);
    onTestFinished(() => log.close());
    const reopen = async () => {
      await log.close();
      log = await place.open(settings);
      return log;
    };
    return { clock, log, place, reopen };
  };
}

export type LogSetUp = ReturnType<typeof createLogSetUp>;

export type Batch = Extract<LogReadOutcome, { kind: 'batch' }>;
export interface ReadOptions {
  limit?: number;
  bytesMax?: number;
  oneAtLeast?: boolean;
  filter?: ReadFilter;
}

export function rawRead(
  log: StreamLog,
  from: Offset | 'oldest',
  options: ReadOptions = {},
): Promise<LogReadOutcome> {
  return log.read({ from, limit: 10_000, bytesMax: 8e6, oneAtLeast: true, ...options });
}

export async function readFrom(
  log: StreamLog,
  from: Offset | 'oldest',
  options: ReadOptions = {},
): Promise<Batch> {
  const outcome = await rawRead(log, from, options);
  if (outcome.kind !== 'batch') throw new Error(`a batch was expected, not ${outcome.kind}`);
  expect(outcome.bytes).toBe(outcome.parts.reduce((sum, part) => sum + part.length, 0));
  return outcome;
}

/** Reads the log to its end and checks that each message has the time of its offset. */
export async function allMessages(log: StreamLog, options: ReadOptions & { from?: Offset } = {}) {
  const { from, ...rest } = options;
  let position: Offset | 'oldest' = from ?? 'oldest';
  const messages = [];
  for (let upToDate = false; !upToDate; ) {
    const outcome: Batch = await readFrom(log, position, rest);
    const page = decodeParts(outcome.parts);
    expect(page).toHaveLength(outcome.count);
    if (rest.limit !== undefined) expect(page.length).toBeLessThanOrEqual(rest.limit);
    messages.push(...page);
    position = outcome.nextOffset;
    upToDate = outcome.upToDate;
  }
  for (const message of messages) expect(offsetMs(BigInt(message.offset))).toBe(message.store_time);
  return messages;
}

/** Many small messages, encoded once and repeated. */
export function tinyBatch(count: number) {
  const one = encodeMessages([{ device: deviceId(1), event_time: 0, data: {} }], 'solar');
  const length = one.bytes.length;
  const bytes = new Uint8Array(length * count);
  const starts = new Uint32Array(count + 1);
  for (let index = 0; index < count; index++) {
    bytes.set(one.bytes, index * length);
    starts[index + 1] = (index + 1) * length;
  }
  const tables = new Array<string>(count).fill('solar');
  const devices = new Array<string | null>(count).fill(deviceId(1));
  return { bytes, starts, tables, devices, count };
}

export function ascending(a: Offset, b: Offset): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
