import {
  BIGINT,
  DOUBLE,
  DuckDBDataChunk,
  INTEGER,
  LIST,
  UBIGINT,
  UTINYINT,
  UUID,
  VARCHAR,
} from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';
import type { MessageColumns } from '../decode/message-columns.ts';

/** The columns of table `message`, in its order. */
const messageTypes = [
  ['batch_id', BIGINT],
  ['stream_offset', UBIGINT],
  ['table_id', INTEGER],
  ['kind', UTINYINT],
  ['device', UUID],
  ['source_id', INTEGER],
  ['event_time_ms', BIGINT],
  ['store_time_ms', BIGINT],
  ['message_id', BIGINT],
  ['field_ids', LIST(INTEGER)],
  ['numbers', LIST(DOUBLE)],
  ['other', VARCHAR],
] as const;
type ColumnName = (typeof messageTypes)[number][0];
/** Name and type of each column in DuckDB's spelling, to check the table once. */
export const messageColumnTypes: ReadonlyArray<readonly [name: string, type: string]> = messageTypes.map(
  ([name, type]) => [name, type.toString()],
);
const nullable = ['device', 'source_id', 'message_id', 'other'] as const;

export const CHUNK_ROWS = 2_048;
/** Chunks that are kept for the next batches; about 0.5 MB each. */
const IDLE_CHUNKS_MAX = 64;
/** A chunk with longer lists than this is freed instead of kept. */
const KEPT_FIELDS_MAX = CHUNK_ROWS * 32;

/**
 * Fills chunks for table `message` from columns. Chunks are reused: release them after they have been
 * appended.
 */
interface ChunkFiller {
  /** Copies rows `start` to `end` synchronously. The columns can change afterwards. */
  fill(columns: MessageColumns, start: number, end: number, batchId: number): DuckDBDataChunk[];
  release(chunks: readonly DuckDBDataChunk[]): void;
}

interface Slot {
  chunk: DuckDBDataChunk;
  vectors: Readonly<Record<ColumnName, duckdb.Vector>>;
  /** The largest number of fields of its lists so far. */
  fields: number;
  hasText: boolean;
}

/**
 * Writes vectors as copies of memory, because the columns have the layout of DuckDB. `copy_data_to_vector`
 * checks nothing. So this code checks the rows of the chunk, the room of the list and the length of the
 * source.
 */
export function createChunkFiller(): ChunkFiller {
  const idle: Slot[] = [];
  const slots = new Map<DuckDBDataChunk, Slot>();
  const batchIds = new BigInt64Array(CHUNK_ROWS);
  const entries = new Uint32Array(CHUNK_ROWS * 4);
  const validity = new Uint8Array(CHUNK_ROWS / 8);

  function fillOne(slot: Slot, columns: MessageColumns, start: number, rows: number, batchId: number): void {
    const { vectors } = slot;
    copy(vectors.batch_id, batchIds.fill(BigInt(batchId), 0, rows), 0, rows);
    copy(vectors.stream_offset, columns.offset, start * 2, rows * 2);
    copy(vectors.table_id, columns.table, start, rows);
    copy(vectors.kind, columns.kind, start, rows);
    copy(vectors.device, columns.device, start * 4, rows * 4);
    copy(vectors.source_id, columns.source, start, rows);
    copy(vectors.event_time_ms, columns.eventTime, start * 2, rows * 2);
    copy(vectors.store_time_ms, columns.storeTime, start * 2, rows * 2);
    copy(vectors.message_id, columns.messageId, start * 2, rows * 2);
    copyValidity(vectors.device, rows, (row) => columns.deviceValid[start + row] !== 0);
    copyValidity(vectors.source_id, rows, (row) => columns.source[start + row]! >= 0);
    copyValidity(vectors.message_id, rows, (row) => columns.messageIdValid[start + row] !== 0);
    fillLists(slot, columns, start, rows);
    fillOther(slot, columns, start, rows);
    slot.chunk.rowCount = rows;
  }

  function fillLists(slot: Slot, columns: MessageColumns, start: number, rows: number): void {
    const first = columns.fieldStart[start]!;
    const fields = columns.fieldStart[start + rows]! - first;
    for (let row = 0; row < rows; row++) {
      const from = columns.fieldStart[start + row]!;
      const length = columns.fieldStart[start + row + 1]! - from;
      if (length < 0 || length > fields) throw new RangeError(`fieldStart falls at message ${start + row}`);
      // Position and length, 64 bits each; the upper words stay zero.
      entries[row * 4] = from - first;
      entries[row * 4 + 2] = length;
    }
    for (const [name, values] of [
      ['field_ids', columns.fieldId],
      ['numbers', columns.number],
    ] as const) {
      const vector = slot.vectors[name];
      copy(vector, entries, 0, rows * 4);
      duckdb.list_vector_reserve(vector, fields);
      duckdb.list_vector_set_size(vector, fields);
      // The child vector has moved if it had to grow, so it is looked up again.
      copy(duckdb.list_vector_get_child(vector), values, first, fields);
    }
    slot.fields = Math.max(slot.fields, fields);
  }

  function fillOther(slot: Slot, columns: MessageColumns, start: number, rows: number): void {
    const vector = slot.vectors.other;
    validity.fill(0, 0, validityBytes(rows));
    if (columns.other.size > 0) {
      for (let row = 0; row < rows; row++) {
        const text = columns.other.get(start + row);
        if (text === undefined) continue;
        duckdb.vector_assign_string_element(vector, row, text);
        validity[row >> 3]! |= 1 << (row & 7);
        slot.hasText = true;
      }
    }
    duckdb.copy_data_to_vector_validity(vector, 0, validity.buffer, 0, validityBytes(rows));
  }

  function copyValidity(vector: duckdb.Vector, rows: number, isValid: (row: number) => boolean): void {
    const bytes = validityBytes(rows);
    validity.fill(0, 0, bytes);
    for (let row = 0; row < rows; row++) if (isValid(row)) validity[row >> 3]! |= 1 << (row & 7);
    duckdb.copy_data_to_vector_validity(vector, 0, validity.buffer, 0, bytes);
  }

  return {
    fill(columns, start, end, batchId) {
      if (start < 0 || start > end || end > columns.count) {
        throw new RangeError(`rows ${start} to ${end} of ${columns.count}`);
      }
      const filled: DuckDBDataChunk[] = [];
      try {
        for (let row = start; row < end; row += CHUNK_ROWS) {
          const slot = idle.pop() ?? createSlot();
          slots.set(slot.chunk, slot);
          filled.push(slot.chunk);
          fillOne(slot, columns, row, Math.min(CHUNK_ROWS, end - row), batchId);
        }
      } catch (error) {
        for (const chunk of filled) slots.delete(chunk);
        throw error;
      }
      return filled;
    },
    release(chunks) {
      for (const chunk of chunks) {
        const slot = slots.get(chunk);
        // A chunk is released only one time. A chunk that is lent twice would mix two batches.
        if (slot === undefined || !slots.delete(chunk)) continue;
        if (idle.length < IDLE_CHUNKS_MAX && slot.fields <= KEPT_FIELDS_MAX) idle.push(clear(slot));
      }
    },
  };
}

function createSlot(): Slot {
  const chunk = DuckDBDataChunk.create(messageTypes.map(([, type]) => type));
  return { chunk, vectors: openVectors(chunk), fields: 0, hasText: false };
}

/**
 * Resets a chunk, because otherwise the memory of its texts would grow with each use. The reset also removes
 * its validity masks.
 */
function clear(slot: Slot): Slot {
  if (!slot.hasText) return slot;
  slot.chunk.reset();
  return { chunk: slot.chunk, vectors: openVectors(slot.chunk), fields: 0, hasText: false };
}

function openVectors(chunk: DuckDBDataChunk): Slot['vectors'] {
  const vectors = Object.fromEntries(
    messageTypes.map(([name], index) => [name, duckdb.data_chunk_get_vector(chunk.chunk, index)]),
  ) as Record<ColumnName, duckdb.Vector>;
  for (const name of nullable) duckdb.vector_ensure_validity_writable(vectors[name]);
  return vectors;
}

/** Validity masks are read in words of 64 rows. */
function validityBytes(rows: number): number {
  return Math.ceil(rows / 64) * 8;
}

type Column = Uint32Array | Int32Array | Uint8Array | Float64Array | BigInt64Array;

function copy(vector: duckdb.Vector, column: Column, start: number, length: number): void {
  if (start + length > column.length) {
    throw new RangeError(`a column ends at ${column.length}, ${start + length} were expected`);
  }
  if (length === 0) return;
  const width = column.BYTES_PER_ELEMENT;
  duckdb.copy_data_to_vector(
    vector,
    0,
    column.buffer as ArrayBuffer,
    column.byteOffset + start * width,
    length * width,
  );
}
