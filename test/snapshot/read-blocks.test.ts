import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { BLOCK_BYTES, blockCount, blockRange, HEAD_BYTES } from '../../src/snapshot/pack-format.ts';
import { readBlocks } from '../../src/snapshot/read-blocks.ts';

test.each([
  ['the headers only', HEAD_BYTES, 1],
  ['a part of a block', HEAD_BYTES + 1, 2],
  ['a whole block', HEAD_BYTES + BLOCK_BYTES, 2],
  ['more than a block', HEAD_BYTES + BLOCK_BYTES + 1, 3],
])('a file of %s has blocks without gaps up to its end', (_, fileBytes, count) => {
  expect(blockCount(fileBytes)).toBe(count);
  let end = 0;
  for (let index = 0; index < count; index++) {
    const { start, length } = blockRange(index, fileBytes);
    expect([start, length > 0]).toEqual([end, true]);
    end = start + length;
  }
  expect(end).toBe(fileBytes);
  expect(blockRange(0, fileBytes)).toEqual({ start: 0, length: HEAD_BYTES });
});

/** A warehouse file in memory. */
function fileOf(fileBytes: number) {
  const content = randomBytes(fileBytes);
  const reads: number[] = [];
  const read = async (target: Buffer, position: number) => {
    reads.push(position);
    content.copy(target, 0, position, position + target.length);
  };
  return { content, reads, read };
}

test.each([1, 2, 8, 9, 16, 17, 20])(
  'a file of %i blocks is read in their order, eight at a time',
  async (count) => {
    const fileBytes = count === 1 ? HEAD_BYTES : HEAD_BYTES + (count - 2) * BLOCK_BYTES + 100;
    const { content, read, reads } = fileOf(fileBytes);
    const sizes: number[] = [];
    let next = 0;
    for await (const blocks of readBlocks(fileBytes, read)) {
      sizes.push(blocks.length);
      for (const { index, bytes } of blocks) {
        const { start, length } = blockRange(index, fileBytes);
        expect(index).toBe(next++);
        expect(bytes.equals(content.subarray(start, start + length))).toBe(true);
      }
      // The next ones may be read already. They must not change these.
      await new Promise((resolve) => setImmediate(resolve));
      const [first] = blocks;
      const { start, length } = blockRange(first!.index, fileBytes);
      expect(first!.bytes.equals(content.subarray(start, start + length))).toBe(true);
    }
    expect(next).toBe(count);
    expect(sizes.slice(0, -1).every((size) => size === 8)).toBe(true);
    expect(reads).toHaveLength(Math.ceil(count / 8));
  },
);

test('an error of a later read is thrown when its blocks are asked for, and a caller that stops waits for its end', async () => {
  const fileBytes = HEAD_BYTES + 20 * BLOCK_BYTES;
  const { read, reads } = fileOf(fileBytes);
  const failing = readBlocks(fileBytes, async (target, position) => {
    if (position > 0) throw new Error('the disk is gone');
    await read(target, position);
  });
  expect((await failing.next()).done).toBe(false);
  await expect(failing.next()).rejects.toThrow('the disk is gone');
  reads.length = 0;
  let running = 0;
  const slow = async (target: Buffer, position: number) => {
    running += 1;
    await new Promise((resolve) => setImmediate(resolve));
    await read(target, position);
    running -= 1;
  };
  for await (const _ of readBlocks(fileBytes, slow)) break;
  expect([reads.length, running]).toEqual([2, 0]);
});
