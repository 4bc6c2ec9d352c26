import { expect, test } from 'vitest';
import type { ShardState, WorkerHealth } from '../../jobs/worker-health.ts';
import { workLiveness, workReadiness, workStateOf } from '../../src/service/worker-readiness.ts';

const nowMs = 1_800_000_000_000;

/** A worker whose workgroups have these states. */
function workerWith(states: readonly ShardState[], members: Partial<WorkerHealth> = {}): WorkerHealth {
  return {
    workerId: 'w',
    backend: 'redis',
    live: true,
    healthy: true,
    startedAtMs: nowMs - 60_000,
    isStarting: false,
    lastRoundAtMs: nowMs,
    isCutOff: false,
    shards: states.map((state) => ({
      workgroupId: state,
      state,
      error: null,
      failingSinceMs: null,
      stages: [],
    })),
    ...members,
  };
}

const states: ShardState[] = [
  'owned',
  'hibernated',
  'hibernating',
  'queued',
  'opening',
  'elsewhere',
  'closing',
  'waiting',
];

test.each<[about: string, members: Partial<WorkerHealth>, closed: ShardState[]]>([
  ['later, with workers on other machines', {}, ['waiting']],
  ['at the start, with workers on other machines', { isStarting: true }, ['queued', 'opening', 'waiting']],
  [
    'before its first round, with workers on other machines',
    { lastRoundAtMs: nowMs - 60_000 },
    ['elsewhere', 'closing', 'waiting'],
  ],
  ['alone', { backend: 'pglite' }, ['elsewhere', 'closing', 'waiting']],
])('the workgroups that nobody can answer for: a worker %s', (_, members, closed) => {
  expect(workStateOf(workerWith(states, members), states, nowMs)).toEqual({
    workgroups: 8,
    troubles: [],
    closed,
    hibernated: 1,
  });
});

test('while a worker starts, nobody can answer for any workgroup', () => {
  expect(workStateOf(undefined, ['home', 'plant'], nowMs)).toEqual({
    workgroups: 2,
    troubles: [],
    closed: ['home', 'plant'],
  });
});

const trouble = {
  stage: 'rollup' as const,
  state: 'failing' as const,
  sinceMs: nowMs,
  message: 'the disk is full',
};
const people = { maySeeNames: true };

test('a process is ready if all is open and nothing fails, and hibernated workgroups are no problem', () => {
  expect(workReadiness({ workgroups: 5, troubles: [], closed: [], hibernated: 2 }, people)).toEqual({
    ok: true,
    detail: { workgroups: 5, open: 3, hibernated: 2, troubles: 0 },
  });
});

test.each([
  ['a workgroup is closed', { troubles: [], closed: ['home'] }, ['workgroup home: no worker has opened']],
  [
    'a stage fails',
    { troubles: [{ ...trouble, workgroupId: 'home' }], closed: [] },
    ['workgroup home, computing energy (rollup): the disk is full'],
  ],
  [
    'a workgroup is closed because of a trouble, which is said once',
    { troubles: [{ ...trouble, workgroupId: 'home' }], closed: ['home', 'plant'] },
    ['workgroup home, computing', 'workgroup plant: no worker'],
  ],
])('a process is not ready if %s, and stays alive', (_, work, problems) => {
  const { ok, detail } = workReadiness({ workgroups: 3, ...work }, people);
  expect([ok, detail]).toEqual([
    false,
    {
      workgroups: 3,
      open: 3 - work.closed.length,
      troubles: work.troubles.length,
      problems: problems.map((text) => expect.stringContaining(text)),
    },
  ]);
  expect(workLiveness({ workgroups: 3, ...work }, true, people)).toMatchObject({ ok: true });
});

test('only troubles are listed for a process that is alive, and the answer is its own', () => {
  const work = { workgroups: 2, troubles: [trouble], closed: ['home'] };
  expect(workLiveness(work, false, people)).toEqual({
    ok: false,
    detail: { troubles: 1, problems: ['all workgroups, computing energy (rollup): the disk is full'] },
  });
});

test('strangers see how many problems there are, and no names', () => {
  const stranger = { maySeeNames: false };
  const work = { workgroups: 2, troubles: [{ ...trouble, workgroupId: 'home' }], closed: ['plant'] };
  for (const { detail } of [workReadiness(work, stranger), workLiveness(work, true, stranger)]) {
    expect(detail).toMatchObject({ troubles: 1, note: expect.stringContaining('ask this process directly') });
    expect(JSON.stringify(detail)).not.toMatch(/home|plant/);
  }
});

test('20 problems are listed, and the others are counted', () => {
  const closed = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`);
  const problemsOf = (count: number) =>
    workReadiness({ workgroups: count, troubles: [], closed: closed(count) }, people).detail!
      .problems as string[];
  expect(problemsOf(20)).toHaveLength(20);
  expect(problemsOf(20).at(-1)).toContain('workgroup w19');
  expect(problemsOf(22)).toHaveLength(21);
  expect(problemsOf(22).at(-1)).toBe('and 2 more; "wattline status" lists all');
});
