import { TerminalError } from '../lib/errors.ts';

const codes = new Set([
  'ObjectDamaged',
  'ObjectMissing',
  'ObjectTooLarge',
  'SnapshotForeign',
  'WarehouseCorrupt',
  'NotAWarehouse',
]);

/** True if an object is damaged or missing. False for all other errors, such as a key without permission. */
export function isDamage(error: unknown): error is TerminalError {
  return error instanceof TerminalError && codes.has(error.code);
}

/**
 * Reads something, and reads it again if it is damaged. Damage counts only if both attempts find it, because
 * bytes can also be damaged on the way.
 * @returns undefined if it is sound
 * @throws every error that is not damage
 */
export async function findDamage(read: () => Promise<void>): Promise<TerminalError | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      await read();
      return undefined;
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (attempt === 2) return error;
    }
  }
}
