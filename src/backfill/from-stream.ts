import type { Interpreter } from '../client/interpret.ts';
import { keepNew } from '../client/keep-new.ts';
import { type Ask, type Position, startPosition } from '../client/position.ts';
import { readStream, type StreamBatch } from '../client/read-stream.ts';
import type { RestSource } from '../client/rest-source.ts';
import type { Offset } from '../contract/offset.ts';
import { instantAt, offsetAt } from '../decode/message-columns.ts';
import { TransientError } from '../lib/errors.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import { type Checkpoint, LIVE_ORIGIN } from '../warehouse/checkpoint.ts';
import type { Shard } from '../warehouse/shard.ts';
import { type Availability, askAvailability } from './availability.ts';
import { markNotWhole, originOf } from './backfill-ledger.ts';
import type { BackfillPiece } from './backfill-request.ts';
import { withoutLanded, withoutQuarantined } from './skip-landed.ts';

interface FromStreamOptions {
  source: RestSource;
  interpret: Interpreter;
  /** The table of messages without a table. */
  defaultTable: string | undefined;
  /** Only messages of this table. */
  table: string | undefined;
  lakeDir: string;
  messagesMax: number;
  /** Waits until this many messages are allowed by the rate. */
  pace(messages: number, signal: AbortSignal): Promise<void>;
  signal: AbortSignal;
  /** Called before each batch. */
  isCancelled(): Promise<boolean>;
  onBatch(batch: { read: number; landed: number; upToMs: UtcMs | undefined }): void;
}

/** Messages of one transaction. The live reader waits a few milliseconds for it. */
const MESSAGES_A_BATCH_MAX = 2_500;

/**
 * Reads a period of the upstream again, without changing the checkpoint of the live reader, and lands missing
 * messages. It lands only messages before the position of the live reader, which lands only messages after
 * it. So no message lands twice.
 * @returns true if it reached the end of the period
 * @throws TransientError if the upstream cannot be read now, or has another log than the live reader
 */
export async function fillFromStream(
  shard: Shard,
  backfillId: number,
  piece: BackfillPiece,
  options: FromStreamOptions,
): Promise<'done' | 'cancelled'> {
  const { source, signal } = options;
  const origin = originOf(backfillId, piece);
  const begun = await shard.checkpoint(origin);
  if (!begun) {
    const available = await askAvailability(source, options.interpret, piece.fromMs, signal);
    if (available.kind !== 'all') await markNotWhole(shard, backfillId, piece, missingText(available));
  }
  let reached = begun?.nextOffset;
  const batches = readStream(source, {
    from: startOf(begun, piece),
    signal,
    untilUpToDate: true,
    names: shard.names,
    ...(options.defaultTable !== undefined && { defaultTable: options.defaultTable }),
    messagesMax: Math.min(MESSAGES_A_BATCH_MAX, options.messagesMax),
    waitSeconds: 0,
  });
  for await (const batch of batches) {
    if (await options.isCancelled()) return 'cancelled';
    if (batch.gap)
      await markNotWhole(
        shard,
        backfillId,
        piece,
        'the upstream deleted a part of the period while it was being read',
      );
    const { position, columns } = batch;
    const { ask } = position;
    if (ask.kind !== 'offset') continue;
    const fetched = columns.count;
    const { isOver, upToMs, read } = await chooseRows(shard, piece, batch, options);
    const result = await shard.land(() => ({
      origin,
      columns,
      fromOffset: reached,
      // The landing never goes back, because messages that were read before an interruption have landed.
      nextOffset: ask.offset,
      logEpoch: position.epoch,
    }));
    if (result.kind === 'recreated')
      throw otherLog(
        'when this backfill began',
        `"wattline backfill cancel ${backfillId}", then ask for the period again`,
      );
    if (result.kind === 'out-of-step') {
      throw new TransientError(
        'OutOfStep',
        'the warehouse and the backfill are at different positions; run the backfill again to continue',
      );
    }
    reached = result.nextOffset;
    options.onBatch({ read, landed: result.kind === 'landed' ? result.messages : 0, upToMs });
    if (isOver) return 'done';
    await options.pace(fetched, signal);
  }
  signal.throwIfAborted();
  return 'done';
}

function startOf(begun: Checkpoint | undefined, { fromMs }: BackfillPiece): Position | Ask {
  if (!begun) return { kind: 'timestamp', timestampMs: fromMs };
  return startPosition(
    { kind: 'offset', offset: begun.nextOffset },
    {
      ...(begun.logEpoch !== undefined && { epoch: begun.logEpoch }),
      ...(begun.lastOffset !== undefined && { lastOffset: begun.lastOffset }),
      ...(begun.lastStoreTimeMs !== undefined && { lastStoreTimeMs: begun.lastStoreTimeMs }),
    },
  );
}

/** Keeps messages of the period that are before the position of the live reader and have not landed. */
async function chooseRows(
  shard: Shard,
  piece: BackfillPiece,
  { columns, position }: StreamBatch,
  { table, lakeDir }: FromStreamOptions,
): Promise<{ isOver: boolean; upToMs: UtcMs | undefined; read: number }> {
  const live = await shard.checkpoint(LIVE_ORIGIN);
  if (!live || live.logEpoch !== position.epoch)
    throw otherLog('the live reader', 'wait until the worker has read from it, then run this command again');
  const tableId = table === undefined ? undefined : shard.names.idOf(table);
  const isLive = (offset: Offset) => offset >= live.nextOffset;
  const rows: number[] = [];
  for (let row = 0; row < columns.count; row++) {
    const storeMs = instantAt(columns.storeTime, row);
    if (storeMs < piece.fromMs || storeMs >= piece.toMs || isLive(offsetAt(columns, row))) continue;
    if (tableId !== undefined && columns.table[row] !== tableId) continue;
    rows.push(row);
  }
  const end = columns.count - 1;
  const upToMs = end < 0 ? undefined : instantAt(columns.storeTime, end);
  const isOver = end >= 0 && (upToMs! >= piece.toMs || isLive(offsetAt(columns, end)));
  const fresh = await withoutLanded(shard, lakeDir, { columns, rows, logEpoch: position.epoch });
  const rejected = await withoutQuarantined(
    shard,
    columns.rejected.filter(({ offset }) => offset === undefined || !isLive(offset)),
  );
  keepNew(columns, { rows: Uint32Array.from(fresh), afterOffset: undefined, throughOffset: undefined });
  columns.rejected = rejected;
  return { isOver, upToMs, read: rows.length };
}

function otherLog(than: string, next: string): TransientError {
  return new TransientError('OtherLog', `the upstream has another log than ${than}: ${next}`);
}

/** Describes which messages of a period the upstream no longer has. */
export function missingText({ kind, firstMs }: Availability): string {
  const others = 'import files of that time, if you have them';
  switch (kind) {
    case 'part':
      return `the upstream no longer has messages before ${formatInstant(firstMs!)}; ${others}`;
    case 'unknown':
      return `the first message that the upstream has is of ${formatInstant(firstMs!)}, and it does not report if there were earlier ones`;
    case 'nothing':
    case 'all':
      return `the upstream no longer has any message of that time; ${others}`;
    default:
      return kind satisfies never;
  }
}
