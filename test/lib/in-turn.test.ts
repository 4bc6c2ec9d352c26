import { expect, test } from 'vitest';
import { createInTurn } from '../../src/lib/in-turn.ts';

test('calls run one after another in their order, also after one that fails', async () => {
  const inTurn = createInTurn();
  const order: string[] = [];
  const call = (name: string) => async () => {
    order.push(`${name} begins`);
    await new Promise(setImmediate);
    order.push(`${name} ends`);
    if (name === 'b') throw new Error('b fails');
    return name;
  };
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(call(name))));
  expect(order).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  expect(results).toMatchObject([{ value: 'a' }, { reason: { message: 'b fails' } }, { value: 'c' }]);
});
