import type { Interpreter } from '../client/interpret.ts';
import { keepNew } from '../client/keep-new.ts';
import { instantAt, offsetAt } from '../client/locate-new-messages.ts';
import { type Ask, type Position, startPosition } from '../client/position.ts';
import { readStream, type StreamBatch } from '../client/read-stream.ts';
import type { RestSource } from '../client/rest-source.ts';
import type { Offset } from '../contract/offset.ts';
import { TransientError } from '../lib/errors.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import type { Checkpoint } from '../warehouse/checkpoint.ts';
import type { Shard } from '../warehouse/shard.ts';
import { type Availability, askAvailability } from './availability.ts';
import { markNotWhole, originOf } from './backfill-ledger.ts';
import type { Chunk } from './backfill-request.ts';
import { withoutLanded, withoutQuarantined } from './without-landed.ts';

export interface FromStreamOptions {
  source: RestSource;
  interpret: Interpreter;
  /** The table of messages that name none. */
  defaultTable: string | undefined;
  /** Only messages of this table. */
  table: string | undefined;
  lakeDir: string;
  messagesMax: number;
  /** Waits until that many messages were due. */
  pace(messages: number, signal: AbortSignal): Promise<void>;
  signal: AbortSignal;
  /** Asked before each batch. */
  isCancelled(): Promise<boolean>;
  onBatch(batch: { read: number; landed: number; upToMs: UtcMs | undefined }): void;
}

/** Messages of one transaction: a few milliseconds in which the live reader waits for its turn. */
const MESSAGES_A_BATCH_MAX = 2_500;
const LIVE_ORIGIN = 'stream';

/**
 * Reads a stretch of the upstream again, beside the live reader and without touching its checkpoint, and lands what has not landed.
 * The live reader lands nothing that lies before its position, and this nothing that does not: so no message can land twice.
 * @returns whether it was done to its end
 * @throws TransientError where the upstream cannot be read now, or stands in another log than the live reader
 */
export async function fillFromStream(
  shard: Shard,
  backfillId: number,
  chunk: Chunk,
  options: FromStreamOptions,
): Promise<'done' | 'cancelled'> {
  const { source, signal } = options;
  const origin = originOf(backfillId, chunk);
  const begun = await shard.checkpoint(origin);
  if (!begun) {
    const available = await askAvailability(source, options.interpret, chunk.fromMs, signal);
    if (available.kind !== 'all') await markNotWhole(shard, backfillId, chunk, missingText(available));
  }
  let reached = begun?.nextOffset;
  const batches = readStream(source, {
    from: startOf(begun, chunk),
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
        chunk,
        'the upstream let go of a part of it while it was being read',
      );
    const { position, columns } = batch;
    if (position.ask.kind !== 'offset') continue;
    const fetched = columns.count;
    const { isOver, upToMs, read } = await chooseRows(shard, chunk, batch, options);
    const result = await shard.land(() => ({
      origin,
      columns,
      fromOffset: reached,
      nextOffset: nextOffset(position, reached),
      logEpoch: position.epoch,
    }));
    if (result.kind === 'recreated') throw otherLog();
    if (result.kind === 'out-of-step') {
      throw new TransientError(
        'OutOfStep',
        'the warehouse stands elsewhere than the backfill; run it again to go on',
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

function startOf(begun: Checkpoint | undefined, { fromMs }: Chunk): Position | Ask {
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

/** Leaves of a batch what belongs to the stretch, lies before the live reader's position, and has not landed. */
async function chooseRows(
  shard: Shard,
  chunk: Chunk,
  { columns, position }: StreamBatch,
  { table, lakeDir }: FromStreamOptions,
): Promise<{ isOver: boolean; upToMs: UtcMs | undefined; read: number }> {
  const live = await shard.checkpoint(LIVE_ORIGIN);
  if (!live || live.logEpoch !== position.epoch) throw otherLog();
  const tableId = table === undefined ? undefined : shard.names.idOf(table);
  const isLive = (offset: Offset) => offset >= live.nextOffset;
  const rows: number[] = [];
  for (let row = 0; row < columns.count; row++) {
    const storeMs = instantAt(columns.storeTime, row);
    if (storeMs < chunk.fromMs || storeMs >= chunk.toMs || isLive(offsetAt(columns, row))) continue;
    if (tableId !== undefined && columns.table[row] !== tableId) continue;
    rows.push(row);
  }
  const end = columns.count - 1;
  const upToMs = end < 0 ? undefined : instantAt(columns.storeTime, end);
  const isOver = end >= 0 && (upToMs! >= chunk.toMs || isLive(offsetAt(columns, end)));
  const fresh = await withoutLanded(shard, lakeDir, { columns, rows, logEpoch: position.epoch });
  const rejected = await withoutQuarantined(
    shard,
    columns.rejected.filter(({ offset }) => offset === undefined || !isLive(offset)),
  );
  keepNew(columns, { rows: Uint32Array.from(fresh), afterOffset: undefined, throughOffset: undefined });
  columns.rejected = rejected;
  return { isOver, upToMs, read: rows.length };
}

/** A piece never goes back: what was read before it broke off has landed. */
function nextOffset({ ask }: Position, reached: Offset | undefined): Offset {
  const next = ask.kind === 'offset' ? ask.offset : 0n;
  return reached !== undefined && reached > next ? reached : next;
}

function otherLog(): TransientError {
  return new TransientError(
    'OtherLog',
    'the upstream is in another log than the live reader: let the worker read on, then run this again',
  );
}

/** What to tell of a stretch of which the upstream no longer has everything. */
export function missingText({ kind, firstMs }: Availability): string {
  const others = 'import files of that time, if there are any';
  switch (kind) {
    case 'part':
      return `the upstream has nothing from before ${formatInstant(firstMs!)} any more; ${others}`;
    case 'unknown':
      return `the first message that the upstream has is of ${formatInstant(firstMs!)}, and it does not say whether there were earlier ones`;
    case 'nothing':
    case 'all':
      return `the upstream has none of it any more; ${others}`;
    default:
      return kind satisfies never;
  }
}
