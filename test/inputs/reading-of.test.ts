import { expect, test } from 'vitest';
import { readingOf } from '../../src/inputs/reading-of.ts';
import { deviceId } from '../support/messages.ts';

const parts = {
  table: 'grid',
  device: 'garage',
  source: null,
  data: { wh: 5 },
  eventTimeMs: 1_795_158_000_000,
  hasOwnTime: true,
};
const idOf = (text: string) => deviceId(text.length);
const read = (changed: Partial<Parameters<typeof readingOf>[0]>, devices?: ReadonlySet<string>) =>
  readingOf({ ...parts, ...changed }, idOf, devices);

test('a reading has the id of its device, and says if its time is its own', () => {
  const item = { device: deviceId(6), source: null, event_time: parts.eventTimeMs, data: { wh: 5 } };
  expect(read({})).toEqual({ kind: 'reading', table: 'grid', item, hasOwnTime: true });
  expect(read({ hasOwnTime: false })).toMatchObject({ kind: 'reading', hasOwnTime: false });
  expect(read({}, new Set([deviceId(6)]))).toMatchObject({ kind: 'reading' });
  expect(read({ device: 'x'.repeat(128) })).toMatchObject({ kind: 'reading' });
});

test.each<[changed: Parameters<typeof read>[0], reason: string]>([
  [{ table: undefined }, 'the table has a placeholder without a value'],
  [{ device: undefined }, 'the device has a placeholder without a value'],
  [{ source: undefined }, 'the source has a placeholder without a value'],
  [{ table: undefined, device: undefined }, 'the table has'],
  [{ table: 'devices' }, 'readings cannot be sent to the table "devices"'],
  [{ table: 'audit_logs' }, 'cannot be sent to the table "audit_logs"'],
  [{ table: '-' }, 'table'],
  [{ device: '' }, 'the device is empty'],
  [{ device: ' \t' }, 'the device is empty'],
  [{ device: 'x'.repeat(129) }, 'the device must be text of at most 128 characters'],
  [{ device: 'a\ud800' }, 'the device must be text of at most 128 characters'],
  [{ source: 'x'.repeat(129) }, 'source must be text of 1 to 128'],
  [{ eventTimeMs: -1 }, 'event_time'],
])('%j is refused: %s', (changed, reason) => {
  expect(read(changed)).toEqual({ kind: 'refused', reason: expect.stringContaining(reason) });
});

test('a reading of a device that the sender may not write for is refused', () => {
  expect(read({}, new Set([deviceId(7)]))).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('device'),
  });
});
