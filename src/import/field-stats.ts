import { deviceText } from '../decode/device-words.ts';
import type { MessageColumns, NameTable } from '../decode/message-columns.ts';
import { HOUR_MS, type LocalDate, localDateOf } from '../lib/time.ts';

/** What the values of a field look like, all devices and sources together. */
export interface FieldStats {
  field: string;
  /** Values, of which `texts` are no numbers. */
  values: number;
  texts: number;
  /** Null where there is no number. */
  min: number | null;
  max: number | null;
  /** How much the values rise and fall between neighbours of a device and source in the order of time, falls to less than a tenth and what follows in one step apart. */
  risen: number;
  fallen: number;
  /** Falls to less than a tenth: of a register that starts again, */
  restarts: number;
  /** or of one that comes back in one step, which is a drop-out. */
  dropOuts: number;
  /** Steps into another local day. */
  dayChanges: number;
}

export interface FieldStatsCollector {
  /** Takes in the rows of a chunk. */
  add(columns: MessageColumns, names: NameTable): void;
  stats(): FieldStats[];
}

/** Steps are looked at of so many rows: their shape is clear by then. */
const ROWS_MAX = 200_000;
/** Series whose last value is remembered; steps of further ones are not looked at. */
const SERIES_MAX = 20_000;
const RESTART_PART = 0.1;
/** What rises to this share of the value before in one step has only dropped out. */
const BACK_PART = 0.9;

interface Last {
  ms: number;
  value: number;
  day: LocalDate;
  /** The value before it fell to less than a tenth, until it rises again. */
  before: number | undefined;
}

/** @param zone of the days: the workgroup's */
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

  function step(stats: FieldStats, key: string, ms: number, value: number): void {
    const last = lasts.get(key);
    if (!last && lasts.size >= SERIES_MAX) return;
    // A row that is out of order tells nothing of the shape.
    if (last && ms <= last.ms) return;
    const day = dayOf(ms);
    const now: Last = { ms, value, day, before: last?.before };
    lasts.set(key, now);
    if (!last) return;
    if (day !== last.day) stats.dayChanges += 1;
    const growth = value - last.value;
    if (growth < 0 && last.value > 0 && value <= RESTART_PART * last.value) {
      stats.restarts += 1;
      now.before = last.value;
    } else if (growth < 0) {
      stats.fallen -= growth;
    } else if (growth > 0) {
      now.before = undefined;
      if (last.before === undefined || value < BACK_PART * last.before) {
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
        const isLookedAt = rows++ < ROWS_MAX;
        const series = isLookedAt ? `${deviceText(columns.device, row * 4)} ${columns.source[row]}` : '';
        const ms = columns.eventTime[2 * row + 1]! * 0x1_0000_0000 + columns.eventTime[2 * row]!;
        for (let at = columns.fieldStart[row]!; at < columns.fieldStart[row + 1]!; at++) {
          const fieldId = columns.fieldId[at]!;
          const value = columns.number[at]!;
          const stats = statsOf(names.nameOf(fieldId));
          stats.values += 1;
          stats.min = Math.min(stats.min ?? value, value);
          stats.max = Math.max(stats.max ?? value, value);
          if (isLookedAt) step(stats, `${series} ${fieldId}`, ms, value);
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

/** What fields look like in several files together. */
export function addStats(files: ReadonlyArray<readonly FieldStats[]>): FieldStats[] {
  const fields = Map.groupBy(files.flat(), ({ field }) => field);
  return [...fields].map(([field, list]) => {
    const sum = (name: 'values' | 'texts' | 'risen' | 'fallen' | 'restarts' | 'dropOuts' | 'dayChanges') =>
      list.reduce((total, one) => total + one[name], 0);
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

/** The local day of an instant, looked up once for each hour: days may begin at any quarter of an hour, which does not matter here. */
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
