import { expect, test } from 'vitest';
import { createFairSlots } from '../../src/lib/fair-slots.ts';

/** `begun` lists work in the order in which it started. `end` gives back the oldest place. */
function setUp(options: { ownMax: number; waitingMax: number }) {
  const slots = createFairSlots({ ...options, refusedError: () => new Error('too much waits') });
  const begun: string[] = [];
  const places: Array<() => void> = [];
  let refused = 0;
  const ask = async (owner: string, count = 1) => {
    for (let number = 0; number < count; number++)
      slots.take(owner).then(
        (giveBack) => {
          begun.push(owner);
          places.push(giveBack);
        },
        () => {
          refused += 1;
        },
      );
    await turn();
  };
  const end = async () => {
    places.shift()!();
    await turn();
  };
  return { begun, ask, end, refused: () => refused };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('an owner with a burst of work leaves a place free, and then owners take turns', async () => {
  const { begun, ask, end, refused } = setUp({ ownMax: 2, waitingMax: 128 });
  await ask('greedy', 500);
  expect(begun).toEqual(['greedy', 'greedy']);
  expect(refused()).toBe(500 - 2 - 64);
  await ask('calm', 3);
  expect(begun.splice(0)).toEqual(['greedy', 'greedy', 'calm']);
  await ask('late');
  for (let ended = 0; ended < 7; ended++) await end();
  expect(begun).toEqual(['late', 'greedy', 'calm', 'greedy', 'calm', 'greedy', 'greedy']);
});

test('each further owner finds room to wait, however many others fill theirs', async () => {
  const { ask, refused } = setUp({ ownMax: 1, waitingMax: 64 });
  await ask('first', 100);
  for (const [owner, waits] of [
    ['second', 16],
    ['third', 8],
    ['fourth', 4],
  ] as const) {
    const before = refused();
    await ask(owner, 100);
    // The second owner has taken the place that is left for others.
    expect(100 - (refused() - before)).toBe(waits + (owner === 'second' ? 1 : 0));
  }
});
