import { expect, test } from 'vitest';
import { readNdjsonLines } from '../../src/report-client/read-ndjson-lines.ts';

const LINE_BYTES_MAX = 10;

/** The lines that are read before the end, or before the error with this code. */
async function linesOf(chunks: AsyncIterable<Uint8Array>) {
  const lines: string[] = [];
  try {
    for await (const line of readNdjsonLines(chunks, LINE_BYTES_MAX)) lines.push(line);
    return { lines };
  } catch (error) {
    return { lines, code: (error as { code?: string }).code };
  }
}

async function* chunksOf(...texts: Array<string | Uint8Array>) {
  for (const text of texts) yield Buffer.from(text);
}

test('lines are whole, even if a chunk ends within a line or a character', async () => {
  const lines = ['{"a":1}', '"€ ü"', '"😀"', '2'];
  const bytes = Buffer.from(`\n${lines.join('\n\n')}`);
  for (let size = 1; size <= bytes.length; size++) {
    const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => index * size);
    const chunks = starts.map((start) => bytes.subarray(start, start + size));
    expect(await linesOf(chunksOf(...chunks))).toEqual({ lines });
  }
});

test.each([
  ['in the middle of a chunk', [`1\n${'x'.repeat(11)}\n2\n`]],
  ['at the end of a chunk', ['1\n', `${'x'.repeat(11)}\n`]],
  ['in several chunks', ['1\nxxxxxx', 'xxxxx\n2\n']],
  ['without a line feed, at the end of the body', [`1\n${'x'.repeat(11)}`]],
  ['of few characters with many bytes', ['1\n€€€€\n2\n']],
])('a line that is too long is an error: %s', async (_, texts) => {
  expect(await linesOf(chunksOf(...texts))).toEqual({ lines: ['1'], code: 'AnswerTooLarge' });
});

test('a line of exactly the limit is read', async () => {
  const lines = ['x'.repeat(10), '€€€1', 'y'.repeat(10)];
  expect(await linesOf(chunksOf(lines.join('\n')))).toEqual({ lines });
});

test('a line without an end is an error as soon as it is too long', async () => {
  let chunks = 0;
  async function* endless() {
    for (;;) {
      chunks += 1;
      yield Buffer.from('xxxx');
    }
  }
  expect(await linesOf(endless())).toEqual({ lines: [], code: 'AnswerTooLarge' });
  expect(chunks).toBe(3);
});
