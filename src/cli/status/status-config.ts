import { formatInstant, SECOND_MS } from '../../lib/time.ts';
import { askProcesses } from '../../worker-rpc/process-rpc.ts';

/** A process that does not answer in this time is left out. */
const WITHIN_MS = 2 * SECOND_MS;

/** One note for each process of this machine that does not work with the newest configuration, as far as it knows. */
export async function describeConfigStates(dataDir: string): Promise<string[]> {
  const answers = await askProcesses(dataDir, 'configState', WITHIN_MS);
  return answers.flatMap(({ processId, roles, outcome }) => {
    if (outcome.kind !== 'answer') return [];
    const { refused, loadedAtMs, needRestart } = outcome.answer;
    const name = `process ${processId} (${roles.join(', ')})`;
    return [
      ...(refused
        ? [
            `${name}: the last reload, at ${formatInstant(refused.atMs)}, was refused, so the configuration of ${formatInstant(loadedAtMs)} still holds; correct it, then run "wattline reload": ${refused.message}`,
          ]
        : []),
      ...(needRestart.length > 0
        ? [`${name}: changed settings that need a restart: ${needRestart.join(', ')}`]
        : []),
    ];
  });
}
