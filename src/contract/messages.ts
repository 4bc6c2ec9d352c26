import { z } from 'zod';
import { integerRange } from '../cbor/integer-range.ts';
import type { Offset } from './offset.ts';
import { limits } from './wire-limits.ts';

/** The path segment for all tables at once. */
export const WILDCARD_TABLE = '-';
export const AUDIT_TABLE = 'audit_logs';
export const DEVICE_STATUS_TABLE = 'devices';
/**
 * The action of an audit message about a payload that an input has refused. Landing puts it into the
 * quarantine.
 */
export const INPUT_REFUSED = 'input.refused';
/** The source of readings without a source. */
export const DEFAULT_SOURCE = 'default';

/**
 * Folders and files are named after workgroups and tables, so separators, a leading dot and a leading dash
 * are refused.
 */
export const workgroupIdSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/,
    'must be 1 to 64 letters, digits, "_" or "-", not starting with "-"',
  );
export const tableNamePattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
export const tableNameSchema = z
  .string('must be text')
  .regex(
    tableNamePattern,
    'must be 1 to 128 letters, digits, "_", "." or "-", starting with a letter, digit or "_"',
  );
/** A lone surrogate is refused, because UTF-8 cannot hold it and two different names would become one. */
const isWellFormed = (text: string) => text.isWellFormed();
const notWellFormed = 'must not contain a lone surrogate, which is half of a character';
export const nameSchema = z.string().min(1).max(limits.nameCharactersMax).refine(isWellFormed, notWellFormed);
const textSchema = z.string().max(limits.textCharactersMax).refine(isWellFormed, notWellFormed);
export const deviceIdSchema = z.guid('must be a UUID').transform((id) => id.toLowerCase());

const instantSchema = z.number().int().min(0).max(limits.instantMsMax);
export const fieldValueSchema = z.union([
  z.number(),
  z.bigint().min(integerRange.least).max(integerRange.greatest),
  textSchema,
  z.boolean(),
  z.null(),
]);
export type FieldValue = z.infer<typeof fieldValueSchema>;

/** A telemetry item as a device sends it. The server adds offset, table, kind and store time. */
export const telemetryItemSchema = z.strictObject({
  device: deviceIdSchema,
  source: nameSchema.nullish(),
  event_time: instantSchema,
  msg_id: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).nullish(),
  data: z
    .record(nameSchema, fieldValueSchema)
    .refine((data) => Object.keys(data).length <= limits.fieldsPerMessageMax, {
      error: `at most ${limits.fieldsPerMessageMax} fields`,
    }),
});

/** A gateway's report that a device came online or went offline. */
export const deviceStatusItemSchema = z.strictObject({
  device: deviceIdSchema,
  state: z.enum(['online', 'offline']),
  event_time: instantSchema,
  reason: textSchema.nullish(),
});

export type TelemetryItem = z.infer<typeof telemetryItemSchema>;
export type DeviceStatusItem = z.infer<typeof deviceStatusItemSchema>;
export interface AuditItem {
  actor: string;
  action: string;
  target?: string;
  event_time: number;
  data?: Record<string, FieldValue>;
}

/** Messages in the log and on the wire. Times are integer milliseconds since 1970. */
export type StreamMessage = { offset: Offset; table: string; event_time: number; store_time: number } & (
  | {
      kind: 'telemetry';
      device: string;
      source: string | null;
      msg_id?: number;
      data: Record<string, FieldValue>;
    }
  | { kind: 'device_status'; device: string; state: 'online' | 'offline'; reason?: string }
  | { kind: 'audit'; actor: string; action: string; target?: string; data?: Record<string, FieldValue> }
);

/** The body of a successful read, of REST and of sockets. */
export interface ReadBody {
  messages: StreamMessage[];
  nextOffset: Offset;
  count: number;
  upToDate: boolean;
  earliestOffset: Offset;
  epoch: string;
  clamped?: 'retention' | 'future';
}
