import { expect, test } from 'vitest';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { InputError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import { createAskOwner } from '../../src/operate/ask-owner.ts';

/** The error of a caller if the owner of the warehouse fails with this one. */
async function refusalOf(error: Error): Promise<Error & Partial<StreamError>> {
  const askOwner = createAskOwner({ ask: async () => ({ kind: 'failed', error }) });
  return askOwner('home', 'backfillList', undefined).then(
    () => expect.unreachable(),
    (refusal) => refusal,
  );
}

test('an answer of the owner is passed on, and without an owner the caller asks again later', async () => {
  const answer = createAskOwner({ ask: async () => ({ kind: 'answer', answer: [] as never }) });
  expect(await answer('home', 'backfillList', undefined)).toEqual([]);
  const none = createAskOwner({ ask: async () => ({ kind: 'not-running' }) });
  await expect(none('home', 'backfillList', undefined)).rejects.toMatchObject({
    code: 'StorageUnavailable',
    retryAfterSeconds: 10,
  });
});

test.each<[what: string, error: Error, refusal: object]>([
  [
    'of a wrong request names its parameter',
    new InputError('the request', [{ path: 'from', message: 'is wrong' }]),
    { code: 'InvalidRequest', message: 'from: is wrong', details: { parameter: 'from' } },
  ],
  [
    'about a backfill that does not run has no hint for the command line',
    new TerminalError('NotRunning', 'no backfill runs; see "wattline backfills"'),
    { code: 'NotFound', message: 'no backfill runs' },
  ],
  [
    'about a state that ends by itself has its own words',
    new TransientError('BackfillRunning', 'process 17 works on it'),
    {
      code: 'StorageUnavailable',
      message: 'another backfill is running; wait until it has ended, or cancel it',
      retryAfterSeconds: 2,
    },
  ],
  [
    'of the upstream has the words of the upstream',
    new TransientError('UpstreamUnreachable', 'the upstream does not answer'),
    { code: 'StorageUnavailable', message: 'the upstream does not answer', retryAfterSeconds: 10 },
  ],
  [
    'that ends by itself names no files',
    new TransientError('WarehouseLocked', '/var/lib/wattline/home.duckdb is locked'),
    {
      code: 'StorageUnavailable',
      message: 'the worker cannot do this now; ask again in a moment',
      retryAfterSeconds: 10,
    },
  ],
  [
    'that nobody expected can end by itself',
    new Error('ENOENT /var/lib/wattline'),
    { code: 'StorageUnavailable', message: 'the worker cannot do this now; ask again in a moment' },
  ],
])('a failure %s', async (_, error, refusal) => {
  expect(await refusalOf(error)).toMatchObject(refusal);
});

test('other failures stay what they are', async () => {
  for (const error of [
    new StreamError('NotFound', 'there is no backfill 7'),
    new TerminalError('Unexpected', 'a fault of the program'),
  ])
    expect(await refusalOf(error)).toBe(error);
});
