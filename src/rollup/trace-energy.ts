import { findPairs } from './compute-stretch.ts';
import { findIndexLines } from './find-index-lines.ts';
import { findScope } from './find-scope.ts';
import { type RollUpContext, run } from './rollup-context.ts';

/**
 * As a roll-up, up to the energy: what the energy of the requested time (table `requested_time`) follows from, as straight lines, in tables `reading_pair`,
 * `index_line`, `midnight_anchor` and `silence_shape` and view `power_line`. Changes nothing that is stored, and judges nothing anew.
 * @returns false where there is nothing to trace, because every requested series is set aside; then there are no such tables
 */
export async function trace(context: RollUpContext): Promise<boolean> {
  const scope = await findScope(context);
  if (!scope) {
    await run(context, 'create_scope');
    return false;
  }
  await findPairs(context, scope, true);
  await findIndexLines(context, scope, false);
  await run(context, 'find_silence_shape', scope.bounds);
  return true;
}
