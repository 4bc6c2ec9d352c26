import type { InputState } from '../inputs/input-counter.ts';
import { MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { postRpc } from './control.ts';
import { listProcessFiles } from './process-file.ts';
import { answerText } from './rpc-wire.ts';

/** The operations of every process of a service, with their results. */
export interface ProcessOperations {
  /** Reads the configuration again. @throws InputError if it has problems; nothing has changed then */
  reload: ConfigReloaded;
  configState: ConfigState;
  /** The inputs that this process runs. */
  inputs: InputState[];
}

/** The workgroups that a reload has changed, by id. */
export interface ConfigReloaded {
  added: string[];
  changed: string[];
  removed: string[];
  /** True if the settings of alerts have changed. Undefined in answers of an older version. */
  alerts?: boolean | undefined;
  /** Changed settings that only a restart applies, as paths. */
  needRestart: string[];
}

/** The configuration that a process uses. */
export interface ConfigState {
  /** The version of the program that runs. Undefined if it is older than this field. */
  version?: string | undefined;
  loadedAtMs: UtcMs;
  /** The address of its HTTP server; undefined for a worker alone and while it starts. */
  url?: string | undefined;
  /** Set if the last reload was refused. */
  refused?: { atMs: UtcMs; message: string } | undefined;
  /** Changed settings that only a restart applies, as of the last reload. */
  needRestart: string[];
}

export interface ProcessAnswer<Result> {
  processId: number;
  roles: string[];
  outcome: { kind: 'answer'; answer: Result } | { kind: 'failed'; error: Error };
}

/**
 * Calls an operation in every process of this machine that works on a data folder. Ended processes are left
 * out.
 */
export async function askProcesses<Name extends keyof ProcessOperations>(
  dataDir: string,
  operation: Name,
  withinMs = MINUTE_MS,
): Promise<Array<ProcessAnswer<ProcessOperations[Name]>>> {
  const answers = await Promise.all(
    listProcessFiles(dataDir).map(async ({ file }) => {
      const reply = await postRpc(file, `/${operation}`, {
        body: answerText({}),
        signal: undefined,
        withinMs,
      });
      if (reply.kind === 'nobody') return [];
      const outcome = reply as ProcessAnswer<ProcessOperations[Name]>['outcome'];
      return [{ processId: file.pid, roles: file.roles, outcome }];
    }),
  );
  return answers.flat().sort((one, other) => one.processId - other.processId);
}
