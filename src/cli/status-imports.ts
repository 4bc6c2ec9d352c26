import type { Config, WorkgroupConfig } from '../config.ts';
import { createControl } from '../control/control.ts';
import type { Told } from '../control/wire.ts';
import { TransientError } from '../errors.ts';
import { importsClosed } from '../pipeline/closed.ts';
import { formatInstant, SECOND_MS, systemClock } from '../time.ts';
import type { OpenImport } from '../warehouse/status.ts';

/** A file whose import does not count, and whether somebody works on it. */
export interface ListedImport extends Told<OpenImport> {
  /** By the service, or by another process that has the warehouse open. */
  isUnderWay: boolean;
}

/** Who does not answer at once is busy with something else. */
const ANSWER_MS = 5 * SECOND_MS;

/**
 * The imports of a workgroup that have begun and do not count, from whoever has its warehouse open, or else from the warehouse.
 * @param written what a worker wrote down last, where neither can be asked
 */
export async function listImports(
  config: Config,
  workgroup: WorkgroupConfig,
  written: readonly OpenImport[],
): Promise<ListedImport[]> {
  const control = createControl(config.dataDir);
  const asked = await control.ask(workgroup.id, 'status', undefined, { withinMs: ANSWER_MS });
  switch (asked.kind) {
    case 'answer': {
      const state = await control.ask(workgroup.id, 'importState', undefined, { withinMs: ANSWER_MS });
      const path = state.kind === 'answer' && state.answer.kind === 'running' ? state.answer.path : undefined;
      return asked.answer.imports.map((one) => ({
        ...one,
        isUnderWay: one.state === 'landing' && one.path === path,
      }));
    }
    case 'failed':
      return heldBySomebody(written);
    case 'not-running': {
      const assignment = { workgroup, dataDir: config.dataDir, pipeline: config.pipeline };
      try {
        const imports = await importsClosed(assignment, systemClock);
        return imports.map((one) => ({ ...one, isUnderWay: false }));
      } catch (error) {
        if (!(error instanceof TransientError)) throw error;
        return error.code === 'NoWarehouse' ? [] : heldBySomebody(written);
      }
    }
    default:
      return asked satisfies never;
  }
}

function heldBySomebody(written: readonly OpenImport[]): ListedImport[] {
  return written.map((one) => ({ ...one, isUnderWay: one.state === 'landing' }));
}

export function describeImport(workgroupId: string, listed: ListedImport): string {
  return `import: ${workgroupId}, ${listed.path}: ${howFar(listed)}\n`;
}

function howFar({ state, isUnderWay, rowsRead, updatedAtMs }: ListedImport): string {
  const rows = `${rowsRead.toLocaleString('en')} rows`;
  const at = formatInstant(updatedAtMs);
  if (isUnderWay) return `being imported, ${rows} read by ${at}`;
  return state === 'landing'
    ? `stopped after ${rows} at ${at}, none of which count yet; the same "wattline import" goes on there`
    : `given up at ${at} after ${rows}, none of which count; import it again`;
}
