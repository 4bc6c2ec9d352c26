import type { WarehouseOwner } from './open-owner.ts';

/**
 * Rolls up and publishes what is stored, step by step. A service does this by itself. At least one step runs,
 * also after the signal, because one is usually enough.
 * @returns false if the signal has ended it before all was done
 */
export async function followUpAll(
  owner: Pick<WarehouseOwner, 'followUp'>,
  signal: AbortSignal,
): Promise<boolean> {
  while (await owner.followUp()) if (signal.aborted) return false;
  return true;
}
