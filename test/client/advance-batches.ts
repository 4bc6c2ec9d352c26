import { keepNew } from '../../src/client/keep-new.ts';
import { type DeliverStep, type Position, type Step, startPosition } from '../../src/client/position.ts';
import type { BatchOutcome, ErrorOutcome } from '../../src/client/read-outcome.ts';
import { createColumns } from '../../src/decode/columns-buffer.ts';
import { type MessageColumns, offsetAt } from '../../src/decode/message-columns.ts';

export const startTimeMs = 1_760_000_000_000;

/**
 * A batch of messages with these offsets. Each was appended as many seconds after the start as its offset.
 */
export function batch(offsets: Array<bigint | number>, said: Partial<BatchOutcome> = {}): BatchOutcome {
  return {
    kind: 'batch',
    columns: columnsOf(offsets.map(BigInt)),
    nextOffset: undefined,
    upToDate: undefined,
    epoch: undefined,
    earliestOffset: undefined,
    clamped: undefined,
    ...said,
  };
}

export function columnsOf(offsets: bigint[]): MessageColumns {
  const columns = createColumns(Math.max(1, offsets.length));
  for (const [row, offset] of offsets.entries()) {
    columns.offset[row * 2] = Number(offset & 0xffff_ffffn);
    columns.offset[row * 2 + 1] = Number(offset >> 32n);
    const storeTimeMs = startTimeMs + Number(offset % 1_000_000n) * 1_000;
    columns.storeTime[row * 2] = storeTimeMs % 0x1_0000_0000;
    columns.storeTime[row * 2 + 1] = Math.floor(storeTimeMs / 0x1_0000_0000);
    columns.fieldStart[row + 1] = 0;
  }
  columns.count = offsets.length;
  return columns;
}

export function failed(error: Partial<ErrorOutcome> = {}): ErrorOutcome {
  return {
    kind: 'error',
    code: 'Http500',
    status: 500,
    message: 'broken',
    retryable: true,
    aboutPosition: 'no',
    retryAfterMs: undefined,
    earliestOffset: undefined,
    nextOffset: undefined,
    epoch: undefined,
    ...error,
  };
}

export function deliver(step: Step): DeliverStep {
  if (step.kind !== 'deliver')
    throw new Error(
      `expected a delivery, not ${JSON.stringify(step, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
    );
  return step;
}

/** The offsets that a step delivers. */
export function delivered(step: DeliverStep, { columns }: BatchOutcome): bigint[] {
  keepNew(columns, step.keep);
  return Array.from({ length: columns.count }, (_, row) => offsetAt(columns, row));
}

export function at(offset: number, known: Partial<Position> = {}): Position {
  return {
    ...startPosition(
      { kind: 'offset', offset: BigInt(offset) },
      {
        lastOffset: BigInt(offset - 1),
        lastStoreTimeMs: startTimeMs + (offset - 1) * 1_000,
      },
    ),
    ...known,
  };
}
