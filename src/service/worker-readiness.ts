import type { WorkerHealth } from '../../jobs/worker-health.ts';
import { troublesOf } from '../../jobs/worker-troubles.ts';
import type { HealthAsker, HealthState } from '../http/health-routes.ts';
import type { UtcMs } from '../lib/time.ts';
import { describeTrouble, type Trouble } from '../pipeline/trouble.ts';

/** The state of the work on the configured workgroups, as this process knows it. */
export interface WorkState {
  workgroups: number;
  troubles: readonly Trouble[];
  /** Workgroups that no process has open or can open. Their uploads and explanations cannot be answered. */
  closed: readonly string[];
  /** The number of workgroups that hibernate. Undefined if it is not known. */
  hibernated?: number;
}

/** The state of the worker in this process. Undefined while it starts. */
export function workStateOf(
  worker: WorkerHealth | undefined,
  workgroupIds: readonly string[],
  nowMs: UtcMs,
): WorkState {
  const workgroups = workgroupIds.length;
  if (!worker) return { workgroups, troubles: [], closed: workgroupIds };
  const { backend, shards, startedAtMs, lastRoundAtMs, isStarting } = worker;
  // Workgroups that this worker has not taken after its first round may belong to a worker on another
  // machine.
  const mayBeElsewhere = backend === 'redis' && lastRoundAtMs > startedAtMs;
  const closed = shards.filter(({ state }) => {
    switch (state) {
      case 'owned':
      case 'hibernated':
      case 'hibernating':
        return false;
      // Later a request opens it at once.
      case 'queued':
      case 'opening':
        return isStarting;
      case 'elsewhere':
      case 'closing':
        return !mayBeElsewhere;
      case 'waiting':
        return true;
      default:
        return state satisfies never;
    }
  });
  return {
    workgroups,
    troubles: troublesOf(worker, nowMs),
    closed: closed.map(({ workgroupId }) => workgroupId),
    hibernated: shards.filter(({ state }) => state === 'hibernated').length,
  };
}

const LISTED_MAX = 20;

/** A process is ready if everything that it serves can be served, and no trouble lasts for minutes. */
export function workReadiness(work: WorkState, { maySeeNames }: HealthAsker): HealthState {
  const { workgroups, troubles, closed, hibernated } = work;
  const ok = troubles.length === 0 && closed.length === 0;
  return {
    ok,
    detail: {
      workgroups,
      open: workgroups - closed.length - (hibernated ?? 0),
      ...(hibernated !== undefined && { hibernated }),
      troubles: troubles.length,
      ...problemsOf(work, maySeeNames),
    },
  };
}

/** A process is alive if its work continues. Troubles are listed, but do not change the answer. */
export function workLiveness(work: WorkState, live: boolean, { maySeeNames }: HealthAsker): HealthState {
  return {
    ok: live,
    detail: { troubles: work.troubles.length, ...problemsOf({ ...work, closed: [] }, maySeeNames) },
  };
}

function problemsOf(
  { troubles, closed }: WorkState,
  maySeeNames: boolean,
): { problems?: string[]; note?: string } {
  if (troubles.length + closed.length === 0) return {};
  if (!maySeeNames)
    return {
      note: 'to see the problems, ask this process directly without a proxy, or run "wattline status"',
    };
  const withTrouble = new Set(troubles.map(({ workgroupId }) => workgroupId));
  const lines = [
    ...troubles.map(describeTrouble),
    ...closed.filter((id) => !withTrouble.has(id)).map((id) => `workgroup ${id}: ${notOpen}`),
  ];
  const more = lines.length - LISTED_MAX;
  return {
    problems: [
      ...lines.slice(0, LISTED_MAX),
      ...(more > 0 ? [`and ${more} more; "wattline status" lists all`] : []),
    ],
  };
}

const notOpen =
  'no worker has opened its data, so uploads, corrections and explanations cannot be answered; if a worker is starting, try again in some seconds; otherwise start one with "wattline up" or "wattline worker"';
