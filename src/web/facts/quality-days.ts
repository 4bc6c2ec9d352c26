import type { LocalDay } from '../words/local-days.ts';
import type { DayDetails, DayOfSeries, QualityAnswer } from './answers.ts';
import { seriesOf } from './series.ts';

/** What is known of a day of a device or a source. Compact answers have no energy. */
export type QualityOfDay = Pick<DayOfSeries, 'flags' | 'coverage' | 'status' | 'methods'> &
  Partial<Pick<DayOfSeries, 'energyWh' | 'version'>>;

/** The quality of days of devices or sources. */
export interface QualityDays {
  days: readonly LocalDay[];
  /** The devices or sources of which something is known. */
  keys: readonly string[];
  hasEnergy: boolean;
  /** @param index the place of the day in `days` */
  at(key: string, index: number): QualityOfDay | undefined;
}

/** @param days the days that the answer is about, in order */
export function daysOfDetails(details: DayDetails, days: readonly LocalDay[]): QualityDays {
  const values = days.map((day) => details[day]);
  return { days, keys: seriesOf(details), hasEnergy: true, at: (key, index) => values[index]?.[key] };
}

/** @param days the days that the answer is about, in order */
export function daysOfQuality({ kinds, devices }: QualityAnswer, days: readonly LocalDay[]): QualityDays {
  return {
    days,
    keys: Object.keys(devices),
    hasEnergy: false,
    at(key, index) {
      const kind = devices[key]?.[index] ?? null;
      return kind === null ? undefined : kinds[kind];
    },
  };
}
