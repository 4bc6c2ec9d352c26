import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CreateOutcome, createOnce } from '../../src/storage/create-once.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

const bytesOf = (text: string) => Buffer.from(`${text} ${randomBytes(8).toString('hex')}`);

test('in a folder the first writer wins, and the second one gets the bytes of the first', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const first = bytesOf('first');
  expect(await createOnce(store, { key: 'commits/1', bytes: first })).toEqual({ kind: 'created' });
  expect(await createOnce(store, { key: 'commits/1', bytes: bytesOf('second') })).toEqual({
    kind: 'taken',
    bytes: first,
  });
  expect(await createOnce(store, { key: 'commits/1', bytes: first })).toEqual({ kind: 'created' });
});

describe.skipIf(s3Missing)('in a bucket behind a network that loses requests and answers', () => {
  async function lossyStore(decide: (put: number) => Fate) {
    const settings = await s3ForTests();
    let puts = 0;
    const endpoint = await startLossyProxy(settings.endpoint, ({ method }) =>
      method === 'PUT' ? decide(puts++) : 'pass',
    );
    const timeouts = { silenceMs: 500, requestMs: 500 };
    return { lossy: createS3Store({ ...settings, endpoint, timeouts }), direct: createS3Store(settings) };
  }

  test.each<Fate>(['lose', 'drop-answer', 'status-after', 'late', 'hang'])(
    'a first request with the fate "%s" does not lose or double a creation',
    async (fate) => {
      const { lossy, direct } = await lossyStore((put) => (put === 0 ? fate : 'pass'));
      const bytes = bytesOf('only');
      expect(await createOnce(lossy, { key: 'commits/1', bytes, pauseMs: 100 })).toEqual({ kind: 'created' });
      expect((await direct.get('commits/1'))?.equals(bytes)).toBe(true);
    },
  );

  test('a creation is not won twice if its answer is lost', async () => {
    const { lossy, direct } = await lossyStore((put) => (put === 0 ? 'lose' : 'pass'));
    const other = bytesOf('other');
    await direct.createKey('commits/1', other);
    const outcome = await createOnce(lossy, { key: 'commits/1', bytes: bytesOf('ours'), pauseMs: 1 });
    expect(outcome).toEqual({ kind: 'taken', bytes: other });
  });

  test('a store that never answers leaves the outcome unknown', async () => {
    const { lossy } = await lossyStore(() => 'lose');
    const outcome = await createOnce(lossy, {
      key: 'commits/1',
      bytes: bytesOf('ours'),
      attemptsMax: 3,
      pauseMs: 1,
    });
    expect(outcome).toMatchObject({ kind: 'unknown', cause: { code: 'StorageUnreachable' } });
  });

  test('writers that race for a sequence of keys never both own one', { tags: ['slow'] }, async () => {
    const fates: Fate[] = ['pass', 'pass', 'lose', 'drop-answer', 'late', 'status-after'];
    let seed = 7;
    const { lossy, direct } = await lossyStore(() => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return fates[(seed >> 8) % fates.length]!;
    });
    const keys = Array.from({ length: 15 }, (_, sequence) => `commits/${sequence}`);
    for (const key of keys) {
      const outcomes = await Promise.all(
        ['a', 'b', 'c'].map(async (writer): Promise<{ bytes: Buffer; outcome: CreateOutcome }> => {
          const bytes = bytesOf(writer);
          return { bytes, outcome: await createOnce(lossy, { key, bytes, pauseMs: 5, attemptsMax: 8 }) };
        }),
      );
      const stored = await direct.get(key);
      for (const { bytes, outcome } of outcomes) {
        if (outcome.kind === 'created') expect(stored?.equals(bytes)).toBe(true);
        if (outcome.kind === 'taken') expect(outcome.bytes.equals(stored!)).toBe(true);
        if (outcome.kind === 'taken') expect(stored?.equals(bytes)).toBe(false);
      }
      expect(outcomes.filter(({ outcome }) => outcome.kind === 'created').length).toBeLessThanOrEqual(1);
    }
  });
});
