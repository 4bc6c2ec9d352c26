import { visibleText } from '../lib/visible-text.ts';
import type { Explanation } from '../report-client/client-answers.ts';

/** The longest answer of a tool. An assistant reads it whole. */
export const ANSWER_CHARACTERS_MAX = 16_000;
const CUT = '... the answer is cut here; ask for fewer days or devices';

/** Energy with its unit. Unknown energy is unknown, never 0. */
export function energyText(wh: unknown): string {
  if (typeof wh !== 'number') return 'unknown';
  return Math.abs(wh) < 1_000
    ? `${wh} Wh`
    : `${(wh / 1_000).toLocaleString('en', { maximumFractionDigits: 3 })} kWh`;
}

/**
 * Joins lines to one answer of bounded length. Line ends in names and messages are escaped, so each stays one
 * line.
 */
export function linesText(lines: readonly string[]): string {
  const keptLines: string[] = [];
  let length = 0;
  for (const line of lines) {
    const text = visibleText(line);
    length += text.length + 1;
    if (length > ANSWER_CHARACTERS_MAX - CUT.length) return [...keptLines, CUT].join('\n');
    keptLines.push(text);
  }
  return keptLines.join('\n');
}

/**
 * The part of a day that measurements cover. It is rounded down, so that an incomplete day is never 100 %.
 */
export function measuredShareText(coverage: unknown): string {
  return typeof coverage === 'number'
    ? `${Math.floor(coverage * 100)} % of the time is measured`
    : 'coverage unknown';
}

/** How the energy of a day was computed, without the single readings. */
export function explanationLines({ device, day, timezone, sources }: Explanation): string[] {
  const listed = (title: string, texts: readonly string[]) => texts.map((text) => `  ${title}: ${text}`);
  return [
    `Device ${device} on ${day} (${timezone}):`,
    ...sources.flatMap(({ source, result, sum, coverage, flags, events, corrections, versions }) => [
      result
        ? `Source ${source}: ${energyText(result.energyWh)}, from the field ${result.field} of the table ${result.table} (${result.method}), ${result.status}`
        : `Source ${source}: the energy is unknown`,
      ...listed('sum', [sum.text]),
      ...listed('coverage', [coverage.text]),
      ...listed(
        'flag',
        flags.map(({ flag, reason }) => `${flag}: ${reason}`),
      ),
      ...listed(
        'event',
        events.map(({ text }) => text),
      ),
      ...listed(
        'correction',
        corrections.map(({ text }) => text),
      ),
      ...listed(
        'version',
        versions.map(({ text }) => text),
      ),
    ]),
  ];
}
