import { expect, test } from 'vitest';
import { serviceStore, workgroupStore } from '../../src/storage/workgroup-store.ts';

const s3 = {
  endpoint: 'http://127.0.0.1:9000',
  region: 'eu-west-1',
  bucket: 'plant',
  prefix: 'replica/',
  accessKeyId: 'reader',
  secretAccessKey: 'secret',
};

test('each workgroup has a folder of the bucket, and what all share has one that no workgroup can have', () => {
  expect(workgroupStore({ s3 }, 'home')?.address).toBe('s3://plant/replica/home');
  expect(serviceStore({ s3 })?.address).toBe('s3://plant/replica/.service');
  expect(workgroupStore({ s3: { ...s3, prefix: '' } }, 'home')?.address).toBe('s3://plant/home');
});

test('without a bucket there is no store', () => {
  expect(workgroupStore({}, 'home')).toBeUndefined();
  expect(serviceStore({})).toBeUndefined();
});
