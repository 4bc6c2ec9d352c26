import { expect, test } from 'vitest';
import type { AskOwner } from '../../src/operate/ask-owner.ts';
import { listWithProgress, startBackfill } from '../../src/operate/start-backfill.ts';

const listed = (backfillId: number, state = 'running') => ({
  backfillId,
  state,
  startedAtMs: 0,
  updatedAtMs: 0,
});
const running = (backfillId?: number) => ({
  kind: 'running',
  progress: { backfillId, part: 0.5, messagesRead: 3 },
});
const ended = (backfillId: number) => ({ kind: 'ended', outcome: { backfillId } });

/** An owner that gives these states, one after another, and this list. A state can be an error. */
function ownerOf(states: unknown[], list: unknown[]) {
  const asked: string[] = [];
  const askOwner = (async (_workgroupId: string, operation: string) => {
    asked.push(operation);
    if (operation === 'backfillList') return list;
    const state = operation === 'backfillState' ? states.shift() : undefined;
    if (state instanceof Error) throw state;
    return state;
  }) as AskOwner;
  return { askOwner, asked };
}
const start = (owner: ReturnType<typeof ownerOf>) =>
  startBackfill(owner.askOwner, 'home', { source: 'gaps' } as never);

test('a backfill is answered when it is planned, with its progress', async () => {
  // First it has no id, and then it is not in the list.
  const owner = ownerOf([running(), running(8), running(7)], [listed(7)]);
  expect(await start(owner)).toMatchObject({ id: 7, state: 'running', progress: { part: 0.5 } });
  expect(owner.asked[0]).toBe('backfillStart');
});

test('a backfill that has ended at once is answered as the list has it', async () => {
  expect(await start(ownerOf([ended(7)], [listed(7, 'done')]))).toMatchObject({
    id: 7,
    state: 'done',
    progress: null,
  });
});

test('a backfill that no worker knows is still being planned', async () => {
  await expect(start(ownerOf([{ kind: 'idle' }], []))).rejects.toMatchObject({
    code: 'StorageUnavailable',
    message: expect.stringContaining('still being planned'),
  });
});

test.each<[what: string, states: unknown[], list: unknown[], id: number | undefined]>([
  ['runs', [running(7)], [listed(7), listed(6, 'done')], 7],
  ['has begun between the two questions', [{ kind: 'idle' }, running(7)], [listed(7)], 7],
  ['is another one now', [running(6), running(7)], [listed(7), listed(6, 'done')], 7],
  ['has ended', [ended(7)], [listed(7, 'done')], undefined],
  ['has failed', [new Error('it has failed'), new Error('it has failed')], [listed(7)], undefined],
])('the list has the progress of a backfill: it %s', async (_, states, list, id) => {
  const found = await listWithProgress(ownerOf(states, list).askOwner, 'home');
  expect(found.listed).toBe(list);
  expect(found.running?.progress.backfillId).toBe(id);
  expect(states).toEqual([]);
});
