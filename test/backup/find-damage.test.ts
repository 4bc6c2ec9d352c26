import { expect, test } from 'vitest';
import { findDamage } from '../../src/backup/find-damage.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';

/** Reads with these outcomes, one after another. */
function reading(...outcomes: Array<Error | undefined>) {
  let reads = 0;
  const found = findDamage(async () => {
    const outcome = outcomes[reads++];
    if (outcome) throw outcome;
  });
  return { found, reads: () => reads };
}

const damaged = (code = 'ObjectDamaged') => new TerminalError(code, 'x');

test('damage counts if two reads find it, and a second read that is sound is believed', async () => {
  const once = reading(damaged(), undefined);
  expect(await once.found).toBeUndefined();
  const twice = reading(damaged(), damaged('ObjectMissing'));
  expect(await twice.found).toMatchObject({ code: 'ObjectMissing' });
  expect([once.reads(), twice.reads()]).toEqual([2, 2]);
});

test.each([
  'ObjectDamaged',
  'ObjectMissing',
  'ObjectTooLarge',
  'SnapshotForeign',
  'WarehouseCorrupt',
  'NotAWarehouse',
])('%s is damage', async (code) => {
  expect(await reading(damaged(code), damaged(code)).found).toMatchObject({ code });
});

test.each([new TransientError('ObjectDamaged', 'x'), damaged('StorageRefused'), new Error('ObjectDamaged')])(
  'every other error is thrown at once: %s',
  async (error) => {
    const { found, reads } = reading(error);
    await expect(found).rejects.toBe(error);
    expect(reads()).toBe(1);
  },
);
