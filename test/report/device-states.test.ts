import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { isAsleep } from '../../src/report/device-states.ts';

const AT_MS = Date.UTC(2026, 10, 20);
const asleep = { state: 'offline', reason: 'asleep', lastSeenMs: AT_MS, sinceMs: AT_MS } as const;

test.each<[what: string, device: Parameters<typeof isAsleep>[0], isQuiet: boolean]>([
  ['has announced it', asleep, true],
  ['was heard a day ago', { ...asleep, lastSeenMs: AT_MS - DAY_MS }, true],
  ['was heard more than a day ago', { ...asleep, lastSeenMs: AT_MS - DAY_MS - 1 }, false],
  [
    'has sent no data, and announced it a day ago',
    { ...asleep, lastSeenMs: null, sinceMs: AT_MS - DAY_MS },
    true,
  ],
  [
    'has sent no data, and announced it more than a day ago',
    { ...asleep, lastSeenMs: null, sinceMs: AT_MS - DAY_MS - 1 },
    false,
  ],
  ['has sent data after it announced it', { ...asleep, sinceMs: AT_MS - 2 * DAY_MS }, true],
  ['is offline for another reason', { ...asleep, reason: 'timeout' }, false],
  ['is online again', { ...asleep, state: 'online' }, false],
])('a device that %s', (_, device, isQuiet) => {
  expect(isAsleep(device, AT_MS)).toBe(isQuiet);
});
