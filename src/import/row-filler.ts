import { type DuckDBDataChunk, DuckDBUUIDValue, type DuckDBVector } from '@duckdb/node-api';
import { limits } from '../contract/wire-limits.ts';
import { setWords, withMember } from '../decode/append-message.ts';
import { reserveFields, reserveMessage } from '../decode/columns-buffer.ts';
import type { MessageColumns, NameTable } from '../decode/message-columns.ts';
import type { LocalClock } from '../foreign-table/local-clock.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Devices } from './import-devices.ts';
import type { Mapping } from './import-mapping.ts';
import type { RejectionReason, Rejections } from './rejections.ts';
import { rowColumns, type Selection } from './select-rows.ts';

/** Converts rows of a file to messages. */
export interface RowFiller {
  /** Appends the rows of a chunk. Rejects invalid rows. */
  fill(columns: MessageColumns, chunk: DuckDBDataChunk, firstRow: number): void;
}

interface RowFillerOptions {
  mapping: Mapping;
  selection: Selection;
  table: string;
  names: NameTable;
  devices: Devices;
  clock: LocalClock;
  rejections: Rejections;
  /** The offset of a row is this plus its number. */
  baseOffset: bigint;
  storeTimeMs: UtcMs;
}

export function createRowFiller(options: RowFillerOptions): RowFiller {
  const { mapping, selection, names, devices, clock, rejections, baseOffset } = options;
  const tableId = names.tableIdOf(options.table);
  const fieldIds = selection.fields.map((field) => (field === undefined ? undefined : names.idOf(field)));
  const fixedDevice = mapping.device.id === undefined ? undefined : devices.find(mapping.device.id);
  const fixedSource = mapping.source?.name === undefined ? -1 : names.idOf(mapping.source.name);
  const valueCount = fieldIds.length;

  /** Appends the row, or returns why it is rejected. */
  function append(
    columns: MessageColumns,
    vectors: Vectors,
    row: number,
    offset: bigint,
  ): Rejection | undefined {
    const broken = vectors.text(rowColumns.broken, row);
    if (broken !== null) return { reason: 'malformed_row', detail: broken };

    const deviceId = fixedDevice ? undefined : vectors.uuid(row);
    const deviceText = fixedDevice || deviceId !== undefined ? '' : vectors.text(rowColumns.device, row);
    const device = fixedDevice ?? findDevice(deviceId, deviceText);
    if (!device) return { reason: 'no_device', detail: unknownDevice(deviceText) };

    const sourceText = vectors.text(rowColumns.source, row) ?? '';
    if (sourceText.length > limits.nameCharactersMax)
      return { reason: 'bad_source', detail: 'its source is too long' };

    const fieldText = mapping.long ? vectors.text(rowColumns.field, row) : null;
    if (mapping.long && (fieldText === null || fieldText.length > limits.nameCharactersMax))
      return { reason: 'bad_field', detail: 'it names no field, or its name is too long' };

    const seriesName = () => `${deviceId ?? deviceText}\0${sourceText}\0${fieldText}`;
    const eventTimeMs = eventTimeOf(vectors, row, seriesName);
    if (typeof eventTimeMs !== 'number') return eventTimeMs;

    reserveMessage(columns);
    const rejection = appendValues(columns, vectors, row, fieldText);
    if (rejection) return rejection;
    const index = columns.count;
    columns.offset[index * 2] = Number(offset & 0xffff_ffffn);
    columns.offset[index * 2 + 1] = Number(offset >> 32n);
    columns.table[index] = tableId;
    columns.source[index] = sourceText === '' ? fixedSource : names.idOf(sourceText);
    columns.kind[index] = 0;
    columns.device.set(device, index * 4);
    columns.deviceValid[index] = 1;
    setWords(columns.eventTime, index, Math.trunc(eventTimeMs));
    setWords(columns.storeTime, index, options.storeTimeMs);
    columns.messageIdValid[index] = 0;
    columns.count = index + 1;
    return undefined;
  }

  /**
   * The time of a row, or why it is rejected.
   * @param seriesName of the row. Where clocks repeat an hour, the rows of a series tell which time is meant
   */
  function eventTimeOf(vectors: Vectors, row: number, seriesName: () => string): UtcMs | Rejection {
    let eventTimeMs = vectors.number(rowColumns.utc, row);
    const localMs = eventTimeMs === null ? vectors.number(rowColumns.local, row) : null;
    if (localMs !== null) {
      const instant = clock.toUtc(localMs, seriesName());
      if (instant === undefined) return noSuchLocalTime(localMs);
      eventTimeMs = instant;
    }
    if (eventTimeMs === null) {
      const text = vectors.text(rowColumns.timeText, row);
      const detail = text === null ? 'it has no time' : `its time is ${JSON.stringify(text.slice(0, 100))}`;
      return { reason: 'bad_time', detail };
    }
    if (!(eventTimeMs >= 0 && eventTimeMs <= limits.instantMsMax))
      return { reason: 'bad_time', detail: 'its time is not within 1970 to 9999' };
    return eventTimeMs;
  }

  /** Appends the values of the row to the next message, or returns why the row is rejected. */
  function appendValues(
    columns: MessageColumns,
    vectors: Vectors,
    row: number,
    fieldText: string | null,
  ): Rejection | undefined {
    const index = columns.count;
    let fieldEnd = columns.fieldStart[index]!;
    reserveFields(columns, fieldEnd + valueCount);
    let other = '';
    let hasNumber = false;
    for (let value = 0; value < valueCount; value++) {
      const number = vectors.number(rowColumns.values + 2 * value, row);
      if (number !== null) {
        columns.fieldId[fieldEnd] = fieldIds[value] ?? names.idOf(fieldName(fieldText!));
        columns.number[fieldEnd++] = number;
        hasNumber = true;
        continue;
      }
      const json = vectors.text(rowColumns.values + 2 * value + 1, row);
      if (json === null) continue;
      other = withMember(other, selection.fields[value] ?? fieldName(fieldText!), json);
      // This text is a whole number beyond 2^53, so the row has a number.
      hasNumber ||= /^-?\d/.test(json);
    }
    if (!hasNumber)
      return { reason: 'no_number', detail: other === '' ? 'it has no value' : 'it has no number' };
    columns.fieldStart[index + 1] = fieldEnd;
    if (other !== '') columns.other.set(index, `{${other}}`);
    return undefined;
  }

  function findDevice(id: bigint | undefined, text: string | null): Uint32Array | undefined {
    return id === undefined ? (text === null ? undefined : devices.find(text)) : devices.wordsOfUuid(id);
  }

  function fieldName(text: string): string {
    const newNames = mapping.long!.names;
    return Object.hasOwn(newNames, text) ? newNames[text]! : text;
  }

  return {
    fill(columns, chunk, firstRow) {
      const vectors = vectorsOf(chunk);
      const { rowCount } = chunk;
      for (let row = 0; row < rowCount; row++) {
        const offset = baseOffset + BigInt(firstRow + row);
        const rejection = append(columns, vectors, row, offset);
        if (!rejection) continue;
        const { reason, detail } = rejection;
        const content = JSON.stringify(
          chunk.getRowValues(row).filter((value) => value !== null),
          plain,
        ).slice(0, CONTENT_CHARACTERS_MAX);
        rejections.add({ reason, detail: `row ${firstRow + row + 1}: ${detail}`, content, offset });
      }
    },
  };
}

/** The kept part of a rejected row. */
export const CONTENT_CHARACTERS_MAX = 2_000;

interface Rejection {
  reason: RejectionReason;
  detail: string;
}

function noSuchLocalTime(localMs: number): Rejection {
  const localTime = new Date(localMs).toISOString().slice(0, 19);
  return {
    reason: 'no_such_local_time',
    detail: `clocks of the zone never showed ${localTime}, because they were put forward`,
  };
}

function unknownDevice(text: string | null): string {
  return text === null
    ? 'it names no device'
    : `no device has the name ${JSON.stringify(text.slice(0, 100))}; add the name to devices in the configuration, or to the mapping`;
}

interface Vectors {
  number(column: number, row: number): number | null;
  text(column: number, row: number): string | null;
  /** The device's UUID as DuckDB holds it, a signed integer of 128 bits. */
  uuid(row: number): bigint | undefined;
}

function vectorsOf(chunk: DuckDBDataChunk): Vectors {
  const vectors = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
  return {
    number: (column, row) => (vectors[column] as DuckDBVector<number>).getItem(row),
    text: (column, row) => (vectors[column] as DuckDBVector<string>).getItem(row),
    uuid: (row) => (vectors[rowColumns.deviceId] as DuckDBVector<DuckDBUUIDValue>).getItem(row)?.hugeint,
  };
}

/** Converts large integers and UUIDs to text. */
function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' || value instanceof DuckDBUUIDValue ? String(value) : value;
}
