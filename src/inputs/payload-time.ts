import type { TimeRule } from '../config/input-settings.ts';
import { epochUnits } from '../foreign-table/guess-time-format.ts';
import { createInstantReader } from '../foreign-table/instant-reader.ts';
import { clipText } from '../lib/clip-text.ts';
import type { UtcMs } from '../lib/time.ts';
import type { MessagePayload } from './payload-value.ts';

/** A clock that shows an earlier time was not set yet. */
const CLOCK_IS_SET_MS = Date.UTC(2000, 0);

type PayloadTime = { kind: 'time'; ms: UtcMs } | { kind: 'problem'; message: string };

/** Creates a reader of the time in payloads. */
export function createTimeReader({
  from,
  format,
  zone,
}: Extract<TimeRule, { format: unknown }> & { zone?: string | undefined }) {
  const readText = createInstantReader({ zone, toSetZone: 'set zone' }, []);
  return (payload: MessagePayload): PayloadTime => {
    const value = payload.at(from);
    const time = format === 'iso' ? isoTime(value, readText) : epochTime(value, epochUnits[format]);
    if (time === undefined) {
      const valueText = value === undefined ? 'nothing' : `"${clipText(String(value))}"`;
      const expected = format === 'iso' ? 'a time such as 2026-05-17T13:15:00+02:00' : `${format} since 1970`;
      return { kind: 'problem', message: `the time at ${from} is ${valueText}, and must be ${expected}` };
    }
    if (time.kind === 'time' ? time.ms < CLOCK_IS_SET_MS : /^19\d\d-/.test(String(value)))
      return {
        kind: 'problem',
        message: `the time at ${from} is before 2000; the clock of the device is not set`,
      };
    return time;
  };
}

function isoTime(value: unknown, readText: ReturnType<typeof createInstantReader>): PayloadTime | undefined {
  if (typeof value !== 'string') return undefined;
  const read = readText({ text: value, series: '' });
  return read.kind === 'instant' ? { kind: 'time', ms: read.ms } : read;
}

function epochTime(value: unknown, unitMs: number): PayloadTime | undefined {
  const number = typeof value === 'string' && /^\d{1,19}(\.\d+)?$/.test(value) ? Number(value) : value;
  if (typeof number === 'bigint') return epochTime(Number(number), unitMs);
  if (typeof number !== 'number' || !(number >= 0)) return undefined;
  return { kind: 'time', ms: Math.round(number * unitMs) };
}
