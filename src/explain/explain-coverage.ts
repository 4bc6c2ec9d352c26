import { formatCountOf } from '../lib/format-count.ts';
import { HOUR_MS } from '../lib/time.ts';
import { joinSpans } from './explain-register.ts';
import { plainDuration, plainNumber } from './explain-words.ts';
import type { Day, Span } from './explained-day.ts';

/** The parts of the day that no span covers. */
export function uncoveredSpans(spans: readonly Span[], { startMs, endMs }: Day): Span[] {
  const gaps: Span[] = [];
  let fromMs = startMs;
  for (const span of joinSpans(spans)) {
    if (span.fromMs > fromMs) gaps.push({ fromMs, toMs: span.fromMs });
    fromMs = Math.max(fromMs, span.toMs);
  }
  if (fromMs < endMs) gaps.push({ fromMs, toMs: endMs });
  return gaps;
}

/** The maximum number of uncovered stretches that are listed. */
const STRETCHES_LISTED_MAX = 8;

/** Says how much of the day measurements cover, and which parts they do not. */
export function coverageText(
  coveredMs: number,
  uncovered: readonly Span[],
  { startMs, endMs, clock }: Day,
): string {
  const text = `measurements cover ${plainDuration(coveredMs)} of ${plainNumber((endMs - startMs) / HOUR_MS)} h`;
  if (uncovered.length === 0) return 'measurements cover all of the day';
  const named = uncovered
    .slice(0, STRETCHES_LISTED_MAX)
    .map(({ fromMs, toMs }) => `${clock(fromMs)} to ${clock(toMs)}`);
  const left = uncovered.length - named.length;
  const more = left > 0 ? ` and ${formatCountOf(left, 'more stretch', 'more stretches')}` : '';
  return `${text}; not ${named.join(', ')}${more}`;
}
