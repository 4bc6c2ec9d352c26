import type { Config, WorkgroupConfig } from '../config/config.ts';
import { brokerAddress } from '../inputs/broker-address.ts';
import { type InputProblem, inputProblem } from '../inputs/input-problem.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import type { Trouble } from '../pipeline/trouble.ts';
import { askProcesses } from '../worker-rpc/process-rpc.ts';

/** A process that does not answer in this time is left out. */
const WITHIN_MS = 2 * SECOND_MS;
/** A process connects to new brokers within a second after it has read the configuration. */
const FOLLOWED_MS = 10 * SECOND_MS;

/**
 * Lasting problems of the MQTT brokers of workgroups: not connected, or not known to the running service.
 * Empty if no stream process of this machine answers, because another machine may be connected to them.
 * @param graceMs see `inputProblem`
 */
export async function inputTroubles(
  { dataDir, stream }: Pick<Config, 'dataDir' | 'stream'>,
  workgroups: readonly WorkgroupConfig[],
  clock: Clock,
  graceMs?: number,
): Promise<Trouble[]> {
  if (!workgroups.some(({ inputs }) => inputs?.mqtt.length)) return [];
  const [answers, configs] = await Promise.all([
    askProcesses(dataDir, 'inputs', WITHIN_MS),
    askProcesses(dataDir, 'configState', WITHIN_MS),
  ]);
  const streams = answers.filter(({ roles }) => roles.includes('stream'));
  const states = streams.flatMap(({ outcome }) => (outcome.kind === 'answer' ? [outcome.answer] : []));
  // With the log in Redis, a process of another machine may be connected.
  const hasAll = stream.log !== 'redis' && states.length > 0;
  const nowMs = clock.now();
  const readAtMs = configs.flatMap(({ roles, outcome }) =>
    roles.includes('stream') && outcome.kind === 'answer' ? [outcome.answer.loadedAtMs] : [],
  );
  const isFollowed = readAtMs.every((atMs) => Math.abs(nowMs - atMs) > FOLLOWED_MS);
  return workgroups.flatMap(({ id: workgroupId, inputs }) =>
    (inputs?.mqtt ?? []).flatMap(({ id, url }) => {
      const found = states.flat().find((one) => one.workgroupId === workgroupId && one.input === id);
      if (found) return troubleOf(workgroupId, inputProblem(found, nowMs, graceMs));
      if (!hasAll || !isFollowed) return [];
      const message = `input "${id}" (${brokerAddress(url)}) is configured, and the running service does not have it; run "wattline reload"`;
      return [{ workgroupId, stage: 'input', state: 'disconnected', sinceMs: nowMs, message } as const];
    }),
  );
}

function troubleOf(workgroupId: string, problem: InputProblem | undefined): Trouble[] {
  return problem ? [{ workgroupId, stage: 'input', state: 'disconnected', ...problem }] : [];
}
