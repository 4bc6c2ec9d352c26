import type { InputState } from '../../inputs/input-counter.ts';
import { SECOND_MS } from '../../lib/time.ts';
import { askProcesses } from '../../worker-rpc/process-rpc.ts';

/** A process that does not answer in this time is left out. */
const WITHIN_MS = 2 * SECOND_MS;

/** Asks all processes of this machine that work on a data folder for their inputs. */
export function askInputs(dataDir: string) {
  return askProcesses(dataDir, 'inputs', WITHIN_MS);
}

/** The inputs of all processes that answer. */
export async function askInputStates(dataDir: string): Promise<InputState[]> {
  const answers = await askInputs(dataDir);
  return answers.flatMap(({ outcome }) => (outcome.kind === 'answer' ? outcome.answer : []));
}
