import { deviceText } from '../decode/device-words.ts';
import type { MessageColumns, NameTable } from '../decode/message-columns.ts';
import { HOUR_MS, type LocalDate, localDateOf } from '../lib/time.ts';

/** Statistics of the values of a field, over all devices and sources. */
export interface FieldStats {
  field: string;
  /** The number of values. `texts` of them are not numbers. */
  values: number;
  texts: number;
  /** Null if no value is a number. */
  min: number | null;
  max: number | null;
  /**
   * The sum of all rises, and of all falls, from one value to the next one of the same device and source.
   * Restarts and drop-outs are not in these sums; they are counted below.
   */
  risen: number;
  fallen: number;
  /** Falls to less than a tenth without a return: restarts of a register. */
  restarts: number;
  /** Falls to less than a tenth after which the next rise brings the value back. */
  dropOuts: number;
  /** Steps into another local day. */
  dayChanges: number;
}

interface FieldStatsCollector {
  /** Adds the rows of a chunk. */
  add(columns: MessageColumns, names: NameTable): void;
  stats(): FieldStats[];
}

/** Steps of the first rows are enough to know their shape. */
const ROWS_MAX = 200_000;
/** Steps of further series are ignored. */
const SERIES_MAX = 20_000;
/** A fall to at most this share of the value before is a restart or a drop-out. */
const RESTART_SHARE = 0.1;
/** A fall was a drop-out if the next value reaches this share of the value before. */
const RETURN_SHARE = 0.9;

interface Last {
  ms: number;
  value: number;
  day: LocalDate;
  /** The value from before a fall to less than a tenth. Undefined as soon as the value rises again. */
  before: number | undefined;
}

/** @param zone of the local days */
export function createFieldStats(zone: string): FieldStatsCollector {
  const fields = new Map<string, FieldStats>();
  const lasts = new Map<string, Last>();
  const dayOf = hourlyDays(zone);
  let rows = 0;

  function statsOf(field: string): FieldStats {
    const known = fields.get(field);
    if (known) return known;
    const stats: FieldStats = {
      field,
      values: 0,
      texts: 0,
      min: null,
      max: null,
      risen: 0,
      fallen: 0,
      restarts: 0,
      dropOuts: 0,
      dayChanges: 0,
    };
    fields.set(field, stats);
    return stats;
  }

  function addStep(stats: FieldStats, key: string, ms: number, value: number): void {
    const last = lasts.get(key);
    if (!last && lasts.size >= SERIES_MAX) return;
    // Rows out of order are ignored.
    if (last && ms <= last.ms) return;
    const day = dayOf(ms);
    const now: Last = { ms, value, day, before: last?.before };
    lasts.set(key, now);
    if (!last) return;
    if (day !== last.day) stats.dayChanges += 1;
    const growth = value - last.value;
    if (growth < 0 && last.value > 0 && value <= RESTART_SHARE * last.value) {
      stats.restarts += 1;
      now.before = last.value;
    } else if (growth < 0) {
      stats.fallen -= growth;
    } else if (growth > 0) {
      now.before = undefined;
      if (last.before === undefined || value < RETURN_SHARE * last.before) {
        stats.risen += growth;
      } else {
        stats.restarts -= 1;
        stats.dropOuts += 1;
      }
    }
  }

  return {
    add(columns, names) {
      for (let row = 0; row < columns.count; row++) {
        const isSampled = rows++ < ROWS_MAX;
        const series = isSampled ? `${deviceText(columns.device, row * 4)} ${columns.source[row]}` : '';
        const ms = columns.eventTime[2 * row + 1]! * 0x1_0000_0000 + columns.eventTime[2 * row]!;
        for (let at = columns.fieldStart[row]!; at < columns.fieldStart[row + 1]!; at++) {
          const fieldId = columns.fieldId[at]!;
          const value = columns.number[at]!;
          const stats = statsOf(names.nameOf(fieldId));
          stats.values += 1;
          stats.min = Math.min(stats.min ?? value, value);
          stats.max = Math.max(stats.max ?? value, value);
          if (isSampled) addStep(stats, `${series} ${fieldId}`, ms, value);
        }
        const other = columns.other.get(row);
        if (other === undefined) continue;
        for (const field of Object.keys(JSON.parse(other) as object)) {
          const stats = statsOf(field);
          stats.values += 1;
          stats.texts += 1;
        }
      }
    },
    stats: () => [...fields.values()],
  };
}

/** Adds up the statistics of several files. */
export function addStats(files: ReadonlyArray<readonly FieldStats[]>): FieldStats[] {
  const fields = Map.groupBy(files.flat(), ({ field }) => field);
  return [...fields].map(([field, list]) => {
    const sum = (name: 'values' | 'texts' | 'risen' | 'fallen' | 'restarts' | 'dropOuts' | 'dayChanges') =>
      list.reduce((total, { [name]: count }) => total + count, 0);
    const ends = list.flatMap(({ min, max }) => (min === null || max === null ? [] : [min, max]));
    return {
      field,
      values: sum('values'),
      texts: sum('texts'),
      min: ends.length === 0 ? null : Math.min(...ends),
      max: ends.length === 0 ? null : Math.max(...ends),
      risen: sum('risen'),
      fallen: sum('fallen'),
      restarts: sum('restarts'),
      dropOuts: sum('dropOuts'),
      dayChanges: sum('dayChanges'),
    };
  });
}

/**
 * The local day of an instant. It is computed once for each hour. So it is not exact in zones where a day
 * begins within an hour, which does not matter here.
 */
function hourlyDays(zone: string): (ms: number) => LocalDate {
  let hour = Number.NaN;
  let day: LocalDate = '';
  return (ms) => {
    const now = Math.floor(ms / HOUR_MS);
    if (now !== hour) {
      hour = now;
      day = localDateOf(ms, zone);
    }
    return day;
  };
}
