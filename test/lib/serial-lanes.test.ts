import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSerialLanes } from '../../src/lib/serial-lanes.ts';

/** A task that runs until it is told to end. */
function openTask() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  return { task: () => promise, end: resolve, fail: reject };
}

test('a tick that finds its predecessor at work is busy and runs nothing', async () => {
  const lanes = createSerialLanes();
  const first = openTask();
  const running = lanes.run('land', 'poll', first.task);
  let ran = false;
  const second = await lanes.run('land', 'poll', async () => {
    ran = true;
  });
  expect(second).toBe('busy');
  expect(ran).toBe(false);
  first.end();
  expect(await running).toBe('done');
});

test('a lane is free again after a task that failed', async () => {
  const lanes = createSerialLanes();
  const failing = lanes.run('derive', 'rollup', () => Promise.reject(new Error('no')));
  const waiting = lanes.run('derive', 'publish', async () => undefined);
  await expect(failing).rejects.toThrow('no');
  expect(await waiting).toBe('done');
  expect(await lanes.run('derive', 'rollup', async () => undefined)).toBe('done');
});

test('jobs of different lanes run at the same time', async () => {
  const lanes = createSerialLanes();
  const poll = openTask();
  const landing = lanes.run('land', 'poll', poll.task);
  expect(await lanes.run('derive', 'rollup', async () => undefined)).toBe('done');
  poll.end();
  await landing;
});

test('jobs of one lane never overlap and start in their order', async () => {
  const job = fc.record({
    lane: fc.constantFrom('land', 'derive'),
    name: fc.constantFrom('poll', 'rollup', 'publish', 'maintain'),
    turns: fc.nat(4),
    pause: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 30 }), async (jobs) => {
      const lanes = createSerialLanes();
      const running = new Map<string, number>();
      const arrived: string[] = [];
      const began: string[] = [];
      const all = [];
      for (const [index, { lane, name, turns, pause }] of jobs.entries()) {
        // A job belongs to one lane, as in the table.
        const run = lanes.run(lane, `${lane}.${name}`, async () => {
          began.push(`${lane}.${index}`);
          running.set(lane, (running.get(lane) ?? 0) + 1);
          expect(running.get(lane)).toBe(1);
          for (let count = 0; count < turns; count++) await turn();
          running.set(lane, 0);
        });
        all.push(run.then((outcome) => outcome === 'done' && arrived.push(`${lane}.${index}`)));
        for (let count = 0; count < pause; count++) await turn();
      }
      await Promise.all(all);
      for (const lane of ['land', 'derive']) {
        const numbers = began
          .filter((entry) => entry.startsWith(lane))
          .map((entry) => Number(entry.split('.')[1]));
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
      expect(began.toSorted()).toEqual(arrived.toSorted());
    }),
    { numRuns: 50 },
  );
});
