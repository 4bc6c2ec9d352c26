import { expect, test } from 'vitest';
import { createRejections, type RejectionReason } from '../../src/import/rejections.ts';

/** Rejects so many rows for a reason. The offset of a row is its number. */
function reject(rejections: ReturnType<typeof createRejections>, reason: RejectionReason, rows: number) {
  for (let row = 0; row < rows; row++)
    rejections.add({ reason, detail: `row ${row + 1}`, content: `${row}`, offset: BigInt(row) });
}

test('all rejected rows are counted by reason, and each reason has up to five examples', () => {
  const rejections = createRejections();
  reject(rejections, 'bad_time', 7);
  reject(rejections, 'no_device', 2);
  expect([rejections.count, rejections.counts()]).toEqual([9, { bad_time: 7, no_device: 2 }]);
  expect(rejections.examples().map(({ reason, detail }) => `${reason} ${detail}`)).toEqual([
    ...[1, 2, 3, 4, 5].map((row) => `bad_time row ${row}`),
    'no_device row 1',
    'no_device row 2',
  ]);
});

test('a rejected row is taken once for the quarantine, and 10,000 rows of a file are kept', () => {
  const rejections = createRejections();
  reject(rejections, 'no_number', 2);
  expect(rejections.take()).toEqual([
    { offset: 0n, reason: 'no_number', detail: 'row 1', bytes: Buffer.from('0') },
    { offset: 1n, reason: 'no_number', detail: 'row 2', bytes: Buffer.from('1') },
  ]);
  expect(rejections.take()).toEqual([]);
  reject(rejections, 'no_number', 10_000);
  expect([rejections.take().length, rejections.count]).toEqual([9_998, 10_002]);
});
