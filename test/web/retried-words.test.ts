import { expect, test } from 'vitest';
import { retriedWords } from '../../src/web/words/retried-words.ts';

/** With plain spaces. */
const words = (series: number, messages: number, backfill: number | null = null) =>
  retriedWords({ series, messages, backfill }).replaceAll('\u00a0', ' ');

test('without anything that can be used, the cause is still there', () => {
  expect(words(0, 0)).toBe('None of it can be used yet. Remove the cause, then try again.');
});

test('series and messages are counted, one of them in the singular', () => {
  expect(words(1, 0)).toBe('1 series is computed again.');
  expect(words(2, 0)).toBe('2 series are computed again.');
  expect(words(0, 1)).toBe('1 message can be decoded now and is read again.');
  expect(words(0, 2)).toBe('2 messages can be decoded now and are read again.');
  expect(words(2, 1)).toBe('2 series are computed again. 1 message can be decoded now and is read again.');
});

test('messages that are read again name their backfill', () => {
  expect(words(0, 2, 7)).toBe('2 messages can be decoded now and are read again (backfill 7).');
  expect(words(1, 0, 7)).toBe('1 series is computed again.');
});
