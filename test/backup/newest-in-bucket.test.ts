import { expect, onTestFinished, test } from 'vitest';
import { newestSequence } from '../../src/backup/newest-sequence.ts';
import { analyticsKey, commitKey } from '../../src/publish/lake-layout.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { openCountingProxy } from '../support/counting-proxy.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';

const COMMITS = Array.from({ length: 1_100 }, (_, index) => commitKey(index + 1));

test.skipIf(s3Missing)(
  'in a bucket a list of few keys is one request, and the search reads few pages',
  async () => {
    const settings = await s3ForTests();
    const { endpoint, requests, close } = await openCountingProxy(settings.endpoint);
    onTestFinished(close);
    const direct = createS3Store(settings);
    const keys = [...COMMITS, analyticsKey(1_050)].values();
    const put = async () => {
      for (const key of keys) await direct.put(key, { bytes: Buffer.from('{}') });
    };
    await Promise.all(Array.from({ length: 16 }, put));
    const store = createS3Store({ ...settings, endpoint });
    expect(await newestSequence(store)).toBe(1_100);
    expect(requests.splice(0).map(({ what }) => what)).toEqual(['LIST', 'LIST']);
    await direct.remove(analyticsKey(1_050));
    expect(await newestSequence(store)).toBe(1_100);
    expect(requests.splice(0).length).toBeLessThanOrEqual(5);
    const found: string[] = [];
    for await (const { key } of store.list('commits/', { keysMax: 2, startAfter: commitKey(5) }))
      found.push(key);
    expect(found).toEqual([commitKey(6), commitKey(7)]);
    for await (const { key } of store.list('commits/', { keysMax: 1_050 })) found.push(key);
    expect(found).toHaveLength(1_052);
    expect(requests.splice(0)).toHaveLength(3);
  },
);
