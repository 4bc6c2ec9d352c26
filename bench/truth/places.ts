import type { LocalDate } from '../../src/lib/time.ts';

/** Where a device stands. */
export interface Place {
  timezone: string;
  latitudeDegrees: number;
  longitudeDegrees: number;
}

/**
 * Two of the zones have an offset that ends in half an hour, one is south of the equator, and three change
 * their clocks.
 */
export const places: readonly Place[] = [
  { timezone: 'Europe/Berlin', latitudeDegrees: 52.5, longitudeDegrees: 13.4 },
  { timezone: 'America/New_York', latitudeDegrees: 40.7, longitudeDegrees: -74 },
  { timezone: 'Asia/Kolkata', latitudeDegrees: 18.5, longitudeDegrees: 73.9 },
  { timezone: 'Australia/Adelaide', latitudeDegrees: -34.9, longitudeDegrees: 138.6 },
  { timezone: 'Etc/UTC', latitudeDegrees: 51.5, longitudeDegrees: 0 },
];

/** The first days of the seasons of recordings. Spring and autumn have the days on which clocks change. */
export const seasons: readonly LocalDate[] = ['2025-01-07', '2025-03-19', '2025-06-11', '2025-10-18'];
