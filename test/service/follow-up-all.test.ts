import { expect, test } from 'vitest';
import { followUpAll } from '../../src/service/follow-up-all.ts';

/** An owner with so much to do that it needs `steps` steps. `onStep` is called after each one. */
function ownerWith(steps: number, onStep: (done: number) => void = () => undefined) {
  let done = 0;
  return {
    done: () => done,
    async followUp() {
      onStep(++done);
      return done < steps;
    },
  };
}

test('steps run until nothing is left to do', async () => {
  for (const steps of [1, 2, 5]) {
    const owner = ownerWith(steps);
    expect(await followUpAll(owner, new AbortController().signal)).toBe(true);
    expect(owner.done()).toBe(steps);
  }
});

test('an interruption ends it after the step that runs, and it says that something is left', async () => {
  const interrupting = new AbortController();
  const owner = ownerWith(3, (done) => {
    if (done === 2) interrupting.abort();
  });
  expect(await followUpAll(owner, interrupting.signal)).toBe(false);
  expect(owner.done()).toBe(2);
});

test('one step runs even if the command was interrupted before, and it can be enough', async () => {
  const [short, long] = [ownerWith(1), ownerWith(2)];
  expect(await followUpAll(short, AbortSignal.abort())).toBe(true);
  expect(await followUpAll(long, AbortSignal.abort())).toBe(false);
  expect([short.done(), long.done()]).toEqual([1, 1]);
});

test('an error of a step is thrown, and no step follows', async () => {
  const owner = ownerWith(3, () => {
    throw new Error('the disk is full');
  });
  await expect(followUpAll(owner, new AbortController().signal)).rejects.toThrow('the disk is full');
  expect(owner.done()).toBe(1);
});
