import type { Config, WorkgroupConfig } from '../config/config.ts';
import type { LandedImport } from '../import/newest-imports.ts';
import { TransientError } from '../lib/errors.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import { assignmentOf } from '../pipeline/assignment.ts';
import type { ShardStatus, UnfinishedImport } from '../warehouse/shard-status.ts';
import type { Control } from '../worker-rpc/control.ts';
import type { AsJson } from '../worker-rpc/rpc-wire.ts';

/** An unfinished import, and whether a process works on it. */
export interface KnownImport extends AsJson<UnfinishedImport> {
  /** The service works on it, or another process that has the warehouse open. */
  isUnderWay: boolean;
}

/** The places where the facts of a workgroup are found. */
export interface FactSource {
  config: Pick<Config, 'dataDir' | 'pipeline' | 'limits'>;
  control: Pick<Control, 'ask'>;
  clock: Clock;
}

/** A process that does not answer in this time is busy. A workgroup that hibernates stays closed. */
const ASKED = { withinMs: 5 * SECOND_MS, wake: false };

/**
 * The unfinished imports of a workgroup, from the process that has the warehouse open, or else from the
 * warehouse. `lastHour` is undefined if no process has it open.
 * @param written the last status of a worker, used if neither can be asked
 * @throws TerminalError if the warehouse cannot be opened
 */
export async function readKnownImports(
  { config, control, clock }: FactSource,
  workgroup: WorkgroupConfig,
  written: readonly UnfinishedImport[],
): Promise<{ imports: KnownImport[]; lastHour?: ShardStatus['lastHour'] }> {
  const result = await control.ask(workgroup.id, 'status', undefined, ASKED);
  switch (result.kind) {
    case 'answer': {
      const { imports, lastHour } = result.answer;
      if (imports.length === 0) return { imports: [], lastHour };
      const state = await control.ask(workgroup.id, 'importState', undefined, ASKED);
      const path = state.kind === 'answer' && state.answer.kind === 'running' ? state.answer.path : undefined;
      const listed = imports.map((entry) => ({
        ...entry,
        isUnderWay: entry.state === 'landing' && entry.path === path,
      }));
      return { imports: listed, lastHour };
    }
    case 'failed':
      return { imports: heldBySomebody(written) };
    case 'not-running':
      try {
        const { importsClosed } = await import('../pipeline/offline-operations.ts');
        const imports = await importsClosed(assignmentOf(config, workgroup), clock);
        return { imports: imports.map((one) => ({ ...one, isUnderWay: false })) };
      } catch (error) {
        if (!(error instanceof TransientError)) throw error;
        return { imports: error.code === 'NoWarehouse' ? [] : heldBySomebody(written) };
      }
    default:
      return result satisfies never;
  }
}

/**
 * The newest finished imports and their effect, from the process that has the warehouse open, or else from
 * the warehouse. Takes seconds after large imports.
 * @returns empty if neither can be asked
 */
export async function readNewestImports(
  { config, control, clock }: FactSource,
  workgroup: WorkgroupConfig,
): Promise<LandedImport[]> {
  const result = await control.ask(workgroup.id, 'importsNewest', undefined, ASKED);
  if (result.kind === 'answer') return result.answer;
  if (result.kind === 'failed') return [];
  try {
    const { importsNewestClosed } = await import('../pipeline/offline-operations.ts');
    return await importsNewestClosed(assignmentOf(config, workgroup), clock);
  } catch (error) {
    if (error instanceof TransientError) return [];
    throw error;
  }
}

/** The last status that a worker has written. */
export function heldBySomebody(written: readonly UnfinishedImport[]): KnownImport[] {
  return written.map((one) => ({ ...one, isUnderWay: one.state === 'landing' }));
}
