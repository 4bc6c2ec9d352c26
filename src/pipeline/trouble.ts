import type { UtcMs } from '../lib/time.ts';
import { visibleText } from '../lib/visible-text.ts';

/** Something that keeps a workgroup from being worked on, for longer than passes by itself. */
export interface Trouble {
  /** Undefined where all workgroups of the worker are concerned. */
  workgroupId?: string | undefined;
  /** `open`: the data cannot be opened; `queue`: the worker itself. */
  stage: 'poll' | 'rollup' | 'publish' | 'maintain' | 'export' | 'open' | 'queue';
  state: 'failing' | 'late' | 'stuck' | 'unscheduled' | 'not-open' | 'unreachable';
  sinceMs: UtcMs;
  /** What is wrong, and what to do, in one line. */
  message: string;
}

const stageWords: Readonly<Record<Trouble['stage'], string>> = {
  poll: 'reading the stream (poll)',
  rollup: 'computing energy (rollup)',
  publish: 'publishing (publish)',
  maintain: 'tidying up (maintain)',
  export: 'writing exports (export)',
  open: 'opening the data',
  queue: 'the queue',
};

/** One line: whose it is, which stage, and what is wrong. */
export function describeTrouble({ workgroupId, stage, message }: Trouble): string {
  const whose = workgroupId === undefined ? 'all workgroups' : `workgroup ${workgroupId}`;
  return visibleText(`${whose}, ${stageWords[stage]}: ${message}`);
}
