import { formatInstant, SECOND_MS } from '../../lib/time.ts';
import { askProcesses } from '../../worker-rpc/process-rpc.ts';

/** A process that does not answer in this time is left out. */
const WITHIN_MS = 2 * SECOND_MS;

type ConfigAnswers = Awaited<ReturnType<typeof askConfigStates>>;

/** The processes of this machine, each with its configuration. */
export function askConfigStates(dataDir: string) {
  return askProcesses(dataDir, 'configState', WITHIN_MS);
}

/** The address of the stream of this data folder; undefined if it does not run on this machine. */
export function streamUrl(answers: ConfigAnswers): string | undefined {
  for (const { roles, outcome } of answers)
    if (roles.includes('stream') && outcome.kind === 'answer' && outcome.answer.url)
      return outcome.answer.url;
  return undefined;
}

/** One note for each process that does not work with the newest configuration, as far as it knows. */
export function describeConfigStates(answers: ConfigAnswers): string[] {
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
