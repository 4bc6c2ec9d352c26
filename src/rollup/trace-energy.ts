import { findPairs } from './compute-stretch.ts';
import { findIndexLines } from './find-index-lines.ts';
import { findScope } from './find-scope.ts';
import { type RollUpContext, runStatement } from './rollup-context.ts';

/**
 * Finds the straight lines that give the energy of the requested time, in tables `reading_pair`,
 * `index_line`, `midnight_anchor` and `silence_shape` and view `power_line`. Like a roll-up, but it judges
 * nothing again and stores nothing.
 * @returns false if there is nothing to trace because every requested series is set aside; then these tables
 *   do not exist
 */
export async function traceEnergy(context: RollUpContext): Promise<boolean> {
  const scope = await findScope(context);
  if (!scope) {
    await runStatement(context, 'create_scope');
    return false;
  }
  await findPairs(context, scope, { needsAll: true });
  await findIndexLines(context, scope, { all: false });
  await runStatement(context, 'collect_silence_shape', scope.bounds);
  return true;
}
