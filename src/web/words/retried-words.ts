import type { RetryAnswer } from '../facts/answers.ts';
import { countText, plural } from './number-words.ts';

/** What of the quarantine can be used after it was tried again. */
export function retriedWords({ series, messages, backfill }: RetryAnswer): string {
  if (series === 0 && messages === 0) return 'None of it can be used yet. Remove the cause, then try again.';
  return [
    series > 0 && `${plural(series, 'series', 'series')} ${series === 1 ? 'is' : 'are'} computed again.`,
    messages > 0 &&
      `${plural(messages, 'message')} can be decoded now and ${messages === 1 ? 'is' : 'are'} read again${backfill === null ? '' : ` (backfill ${countText(backfill)})`}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
