import type { DuckDBBlobValue, DuckDBConnection } from '@duckdb/node-api';
import type { UtcMs } from '../lib/time.ts';
import { query } from './query.ts';
import type { SetAsideSeries } from './shard-status.ts';

export interface QuarantineQuery {
  /** Only of these devices. Undefined: all, and messages without a device. */
  devices?: string[] | undefined;
  /** The maximum number of samples of each reason. */
  samplesMax: number;
}

/** Messages or readings that were received and not used, by reason. */
export interface QuarantineGroup {
  kind: 'message' | 'reading';
  reason: string;
  items: number;
  devices: number;
  /** Messages: times of the quarantine. Readings: event times. */
  firstMs: UtcMs;
  lastMs: UtcMs;
  samples: QuarantineSample[];
}

interface QuarantineSample {
  device: string | null;
  source: string | null;
  field: string | null;
  eventTimeMs: UtcMs | null;
  detail: string | null;
  /**
   * The value, or the first bytes of the message: as text if they are text, otherwise as hexadecimal digits.
   */
  text: string | null;
  encoding: 'text' | 'hex';
  /** The length of the message. */
  byteCount: number | null;
}

export interface Quarantine {
  /** Of all reasons, the most frequent first. */
  groups: QuarantineGroup[];
  /** Series with a roll-up that fails. */
  setAside: SetAsideSeries[];
}

const GROUPS_MAX = 200;
/** Enough to recognize a message. */
const SAMPLE_BYTES_MAX = 512;
const SERIES_LISTED_MAX = 200;

export async function listQuarantine(
  connection: DuckDBConnection,
  { devices, samplesMax }: QuarantineQuery,
): Promise<Quarantine> {
  const parameters = { devices: devices === undefined ? null : JSON.stringify(devices) };
  const sampled = { ...parameters, samples_max: BigInt(samplesMax), bytes_max: BigInt(SAMPLE_BYTES_MAX) };
  const groups = await query<GroupRow>(connection, 'land/group_quarantine', {
    ...parameters,
    rows_max: BigInt(GROUPS_MAX),
  });
  const messages = await query<MessageRow>(connection, 'land/find_quarantine_samples', sampled);
  const readings = await query<ReadingRow>(connection, 'land/find_rejected_samples', sampled);
  const setAside = await query<SeriesRow>(connection, 'rollup/list_set_aside');
  const visible = devices === undefined ? undefined : new Set(devices);
  return {
    groups: groups.map(({ kind, reason, items, devices: count, first_ms, last_ms }) => ({
      kind,
      reason,
      items,
      devices: count,
      firstMs: first_ms,
      lastMs: last_ms,
      samples:
        kind === 'message'
          ? messages.filter((message) => message.reason === reason).map(messageSample)
          : readings.filter((reading) => reading.reason === reason).map(readingSample),
    })),
    setAside: setAside
      .filter(({ device }) => visible?.has(device) ?? true)
      .slice(0, SERIES_LISTED_MAX)
      .map(({ device, source, field, since_ms, error }) => ({
        device,
        source,
        field,
        sinceMs: since_ms,
        error,
      })),
  };
}

function messageSample({
  device,
  source,
  field,
  event_time_ms,
  detail,
  head,
  byte_count,
}: MessageRow): QuarantineSample {
  const about = { device, source, field, eventTimeMs: event_time_ms, detail };
  if (head === null) return { ...about, text: null, encoding: 'text', byteCount: null };
  const text = plainText(head.bytes, byte_count! > head.bytes.length);
  return {
    ...about,
    text: text ?? Buffer.from(head.bytes).toString('hex'),
    encoding: text === undefined ? 'hex' : 'text',
    byteCount: byte_count,
  };
}

/**
 * The text of bytes that are UTF-8 without control characters, such as JSON or a row of a CSV file. Undefined
 * for other bytes, such as CBOR.
 */
function plainText(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    // A character that is cut is left out.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
    return /\p{Cc}/u.test(text.replace(/[\t\r\n]/g, '')) ? undefined : text;
  } catch {
    return undefined;
  }
}

function readingSample({ device, source, field, event_time_ms, value }: ReadingRow): QuarantineSample {
  const about = { device, source, field, eventTimeMs: event_time_ms, detail: null };
  return { ...about, text: value, encoding: 'text', byteCount: null };
}

type GroupRow = {
  kind: QuarantineGroup['kind'];
  reason: string;
  items: number;
  devices: number;
  first_ms: number;
  last_ms: number;
};
type SampleRow = {
  reason: string;
  device: string | null;
  source: string | null;
  field: string | null;
  event_time_ms: number | null;
};
type MessageRow = SampleRow & {
  detail: string | null;
  head: DuckDBBlobValue | null;
  byte_count: number | null;
};
type ReadingRow = SampleRow & { value: string | null };
type SeriesRow = { device: string; source: string; field: string; since_ms: number; error: string };
