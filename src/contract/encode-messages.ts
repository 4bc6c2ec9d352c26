import { cborInitial, cborMajor } from '../cbor/cbor-head.ts';
import {
  type CborWriter,
  createWriter,
  reserve,
  writeBigint,
  writeHead,
  writeNumber,
  writeRaw,
  writeSimple,
  writeText,
  written,
} from '../cbor/cbor-writer.ts';
import {
  AUDIT_TABLE,
  type AuditItem,
  DEVICE_STATUS_TABLE,
  type DeviceStatusItem,
  type FieldValue,
  type TelemetryItem,
} from './messages.ts';
import type { Offset } from './offset.ts';

export type IngestItem = TelemetryItem | DeviceStatusItem | AuditItem;

/** Messages as they are stored and sent: CBOR maps one after another. */
export interface EncodedBatch {
  bytes: Uint8Array;
  /** Message i is the bytes from `starts[i]` to `starts[i + 1]`. */
  starts: Uint32Array;
  tables: string[];
  /** The device of each message, for the filter by device groups; null for audit messages. */
  devices: Array<string | null>;
  count: number;
}

/**
 * Each message begins with `offset` and `store_time` as 8-byte integers, because the log knows them last and
 * writes them into the encoded message. Eight bytes are the shortest form from 2^32 on, so for all real
 * offsets and times.
 */
const OFFSET_POSITION = 9;
const STORE_TIME_POSITION = 29;
const BYTES_PER_MESSAGE_EXPECTED = 320;

/**
 * Encodes items for the log. Telemetry goes to `table`; device status and audit items go to their own tables.
 * Offsets and store times are zero until `stampMessages`.
 */
export function encodeMessages(items: readonly IngestItem[], table: string): EncodedBatch {
  const writer = createWriter(items.length * BYTES_PER_MESSAGE_EXPECTED);
  const startOfTelemetry = telemetryStart(table);
  const statusStart = messageStart(DEVICE_STATUS_TABLE, 'device_status');
  const auditStart = messageStart(AUDIT_TABLE, 'audit');
  const starts = new Uint32Array(items.length + 1);
  const tables: string[] = [];
  const devices: Array<string | null> = [];
  for (const [index, item] of items.entries()) {
    starts[index] = writer.length;
    if ('actor' in item) {
      writeAudit(writer, auditStart, item);
      tables.push(AUDIT_TABLE);
      devices.push(null);
    } else if ('state' in item) {
      writeDeviceStatus(writer, statusStart, item);
      tables.push(DEVICE_STATUS_TABLE);
      devices.push(item.device);
    } else {
      writeTelemetry(writer, startOfTelemetry, item);
      tables.push(table);
      devices.push(item.device);
    }
  }
  starts[items.length] = writer.length;
  return { bytes: written(writer), starts, tables, devices, count: items.length };
}

/** Writes consecutive offsets and one store time into encoded messages. */
export function stampMessages(batch: EncodedBatch, firstOffset: Offset, storeTimeMs: number): void {
  const { bytes, starts, count } = batch;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const storeTimeHigh = Math.floor(storeTimeMs / 0x1_0000_0000);
  const storeTimeLow = storeTimeMs % 0x1_0000_0000;
  let high = Number(firstOffset >> 32n);
  let low = Number(firstOffset & 0xffff_ffffn);
  for (let index = 0; index < count; index++) {
    const start = starts[index]!;
    view.setUint32(start + OFFSET_POSITION, high);
    view.setUint32(start + OFFSET_POSITION + 4, low);
    view.setUint32(start + STORE_TIME_POSITION, storeTimeHigh);
    view.setUint32(start + STORE_TIME_POSITION + 4, storeTimeLow);
    low++;
    if (low === 0x1_0000_0000) {
      low = 0;
      high++;
    }
  }
}

/** The first bytes of all telemetry messages of a table. */
export function telemetryStart(table: string): Uint8Array {
  return messageStart(table, 'telemetry');
}

/**
 * Encodes the members that all messages of one table and kind share. The number of members is written later.
 */
function messageStart(table: string, kind: string): Uint8Array {
  const writer = createWriter(64);
  writeHead(writer, cborMajor.map, 0);
  for (const key of ['offset', 'store_time']) {
    writeText(writer, key);
    reserve(writer, 9);
    writer.bytes[writer.length] = cborInitial.uint64;
    writer.bytes.fill(0, writer.length + 1, writer.length + 9);
    writer.length += 9;
  }
  writeText(writer, 'table');
  writeText(writer, table);
  writeText(writer, 'kind');
  writeText(writer, kind);
  return written(writer);
}

/** Writes the first bytes of a message with this number of members, which must be less than 24. */
function begin(writer: CborWriter, start: Uint8Array, members: number): void {
  const at = writer.length;
  writeRaw(writer, start);
  writer.bytes[at] = cborMajor.map | members;
}

function writeTelemetry(writer: CborWriter, start: Uint8Array, item: TelemetryItem): void {
  const messageId = item.msg_id ?? undefined;
  begin(writer, start, messageId === undefined ? 8 : 9);
  writeText(writer, 'device');
  writeText(writer, item.device);
  writeText(writer, 'source');
  writeValue(writer, item.source ?? null);
  writeText(writer, 'event_time');
  writeNumber(writer, item.event_time);
  if (messageId !== undefined) {
    writeText(writer, 'msg_id');
    writeNumber(writer, messageId);
  }
  writeText(writer, 'data');
  writeData(writer, item.data);
}

function writeDeviceStatus(writer: CborWriter, start: Uint8Array, item: DeviceStatusItem): void {
  const reason = item.reason ?? undefined;
  begin(writer, start, reason === undefined ? 7 : 8);
  writeText(writer, 'device');
  writeText(writer, item.device);
  writeText(writer, 'state');
  writeText(writer, item.state);
  writeText(writer, 'event_time');
  writeNumber(writer, item.event_time);
  if (reason !== undefined) {
    writeText(writer, 'reason');
    writeText(writer, reason);
  }
}

function writeAudit(writer: CborWriter, start: Uint8Array, item: AuditItem): void {
  begin(writer, start, 7 + (item.target === undefined ? 0 : 1) + (item.data === undefined ? 0 : 1));
  writeText(writer, 'actor');
  writeText(writer, item.actor);
  writeText(writer, 'action');
  writeText(writer, item.action);
  writeText(writer, 'event_time');
  writeNumber(writer, item.event_time);
  if (item.target !== undefined) {
    writeText(writer, 'target');
    writeText(writer, item.target);
  }
  if (item.data !== undefined) {
    writeText(writer, 'data');
    writeData(writer, item.data);
  }
}

function writeData(writer: CborWriter, data: Record<string, FieldValue>): void {
  const fields = Object.keys(data);
  writeHead(writer, cborMajor.map, fields.length);
  for (const field of fields) {
    writeText(writer, field);
    writeValue(writer, data[field]!);
  }
}

function writeValue(writer: CborWriter, value: FieldValue): void {
  if (typeof value === 'number') writeNumber(writer, value);
  else if (typeof value === 'string') writeText(writer, value);
  else if (typeof value === 'bigint') writeBigint(writer, value);
  else writeSimple(writer, value);
}
