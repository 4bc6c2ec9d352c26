import type { UtcMs } from '../lib/time.ts';
import { visibleText } from '../lib/visible-text.ts';

/** A lasting problem with the work on a workgroup. */
export interface Trouble {
  /** Undefined if it affects all workgroups of the worker. */
  workgroupId?: string | undefined;
  /**
   * `open`: the data cannot be opened. `queue`: the worker itself. `store`: messages cannot be stored, or
   * get a wrong store time. `input`: a broker.
   */
  stage:
    | 'poll'
    | 'rollup'
    | 'publish'
    | 'maintain'
    | 'commit'
    | 'export'
    | 'open'
    | 'queue'
    | 'store'
    | 'input';
  state: 'failing' | 'late' | 'stuck' | 'unscheduled' | 'not-open' | 'unreachable' | 'disconnected';
  sinceMs: UtcMs;
  /** The problem and what to do, in one line. */
  message: string;
}

const stageWords: Readonly<Record<Trouble['stage'], string>> = {
  poll: 'reading the stream (poll)',
  rollup: 'computing energy (rollup)',
  publish: 'publishing (publish)',
  maintain: 'cleaning up (maintain)',
  commit: 'committing to the bucket (commit)',
  export: 'writing exports (export)',
  open: 'opening the data',
  queue: 'the queue',
  store: 'storing messages',
  input: 'receiving messages (inputs)',
};

/** One line: the workgroup, the stage, and the problem. */
export function describeTrouble({ workgroupId, stage, message }: Trouble): string {
  const whose = workgroupId === undefined ? 'all workgroups' : `workgroup ${workgroupId}`;
  return visibleText(`${whose}, ${stageWords[stage]}: ${message}`);
}
