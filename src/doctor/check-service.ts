import { errorMessage, type Problem } from '../lib/errors.ts';
import type { WorkgroupState } from '../operate/workgroup-state.ts';
import { describeTrouble } from '../pipeline/trouble.ts';
import type { ConfigState, ProcessAnswer } from '../worker-rpc/process-rpc.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

type ConfigAnswer = ProcessAnswer<ConfigState>;

/** The processes of this machine: they answer, are ready, and work with the configuration as it is. */
export function checkProcesses(
  processes: () => Promise<ConfigAnswer[]>,
  notesOf: (answers: ConfigAnswer[]) => string[],
): Check {
  return {
    name: 'service',
    async run(signal) {
      const answers = await processes();
      if (answers.length === 0)
        return [
          warning(
            'no process of this data folder runs on this machine',
            'start it with "wattline up", or run this command with its configuration',
          ),
        ];
      const facts = await Promise.all(answers.map((one) => processFacts(one, signal)));
      return [...facts.flat(), ...notesOf(answers).map((note) => warning(note))];
    },
  };
}

async function processFacts(
  { processId, roles, outcome }: ConfigAnswer,
  signal: AbortSignal,
): Promise<Fact[]> {
  const name = `process ${processId} (${roles.join(', ')})`;
  if (outcome.kind === 'failed')
    return [
      problem(
        `${name} does not answer: ${errorMessage(outcome.error)}`,
        'read its log; if it is stopped or stuck, restart it',
      ),
    ];
  const { url } = outcome.answer;
  if (url === undefined) return [ok(`${name} runs`)];
  const answer = await fetch(`${url}/ready`, { signal });
  const { ok: isReady, checks } = (await answer.json()) as Readiness;
  if (isReady) return [ok(`${name} is ready at ${url}`)];
  return Object.entries(checks)
    .filter(([, state]) => !state.ok)
    .map(([check, { detail }]) =>
      problem(
        `${name} is not ready: ${check}${detail === undefined ? '' : ` ${JSON.stringify(detail)}`}`,
        'docs/troubleshooting.md lists these words',
      ),
    );
}

/** The answer of `GET /ready`. */
interface Readiness {
  ok: boolean;
  checks: Record<string, { ok: boolean; detail?: unknown }>;
}

/** The troubles that `wattline status` shows, and the problems that a worker has found in the data. */
export function checkWorkgroups(states: () => Promise<WorkgroupState[]>): Check {
  return {
    name: 'workgroups',
    async run() {
      const all = await states();
      if (all.length === 0) return [ok('no worker has run yet')];
      const facts = all.flatMap((workgroup) => [
        ...workgroup.troubles.map((trouble) => problem(describeTrouble(trouble))),
        ...workgroup.problems.map((found) => warning(problemText(found))),
      ]);
      const counts = [...Map.groupBy(all, ({ state }) => state)].map(
        ([state, list]) => `${list.length} ${state}`,
      );
      return facts.length > 0 ? facts : [ok(`no troubles; workgroups: ${counts.join(', ')}`)];
    },
  };
}

export function problemText({ path, message }: Problem): string {
  return path === '' ? message : `${path}: ${message}`;
}
