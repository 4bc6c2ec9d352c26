import { findPairs } from './compute.ts';
import { findIndexLines } from './index-lines.ts';
import { findScope } from './scope.ts';
import { run, type Working } from './working.ts';

/**
 * As a roll-up, up to the energy: what the energy of the asked time (table `asked`) follows from, as straight lines, in tables `reading_pair`,
 * `index_line`, `midnight_anchor` and `silence_shape` and view `power_line`. Changes nothing that is stored, and judges nothing anew.
 * @returns false where there is nothing to trace, because every asked series is set aside; then there are no such tables
 */
export async function trace(working: Working): Promise<boolean> {
  const scope = await findScope(working);
  if (!scope) {
    await run(working, 'create_scope');
    return false;
  }
  await findPairs(working, scope, true);
  await findIndexLines(working, scope, false);
  await run(working, 'find_shape', scope.bounds);
  return true;
}
