import type { MessageColumns, NameTable } from '../contract/columns.ts';
import { deviceText } from '../contract/device-words.ts';
import { HOUR_MS, type LocalDate, localDateOf } from '../time.ts';

/** What the values of a field look like, all devices and sources together. */
export interface FieldStats {
  field: string;
  /** Values, of which `texts` are no numbers. */
  values: number;
  texts: number;
  /** Null where there is no number. */
  min: number | null;
  max: number | null;
  /** Steps between neighbouring values of a device and source, in the order of time. */
  rises: number;
  falls: number;
  /** Falls to less than a tenth: a register that starts again. */
  restarts: number;
  /** Restarts that come with another local day. */
  dayRestarts: number;
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

interface Last {
  ms: number;
  value: number;
  day: LocalDate;
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
    const stats = {
      field,
      values: 0,
      texts: 0,
      min: null,
      max: null,
      rises: 0,
      falls: 0,
      restarts: 0,
      dayRestarts: 0,
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
    lasts.set(key, { ms, value, day });
    if (!last) return;
    if (value > last.value) stats.rises += 1;
    if (value >= last.value) return;
    stats.falls += 1;
    if (last.value <= 0 || value > RESTART_PART * last.value) return;
    stats.restarts += 1;
    if (day !== last.day) stats.dayRestarts += 1;
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
    const sum = (name: 'values' | 'texts' | 'rises' | 'falls' | 'restarts' | 'dayRestarts') =>
      list.reduce((total, one) => total + one[name], 0);
    const ends = list.flatMap(({ min, max }) => (min === null || max === null ? [] : [min, max]));
    return {
      field,
      values: sum('values'),
      texts: sum('texts'),
      min: ends.length === 0 ? null : Math.min(...ends),
      max: ends.length === 0 ? null : Math.max(...ends),
      rises: sum('rises'),
      falls: sum('falls'),
      restarts: sum('restarts'),
      dayRestarts: sum('dayRestarts'),
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
