import { MINUTE_MS } from '../../../src/lib/time.ts';
import type { DeviceKind } from '../devices.ts';

export const solarOnly: readonly DeviceKind[] = ['solar'];

/** Devices that count through the night. */
export const countsAtNight: readonly DeviceKind[] = ['house', 'charger', 'constant', 'wind', 'factory'];

export const usualStepsMs: readonly number[] = [1, 5, 10, 15].map((minutes) => minutes * MINUTE_MS);
