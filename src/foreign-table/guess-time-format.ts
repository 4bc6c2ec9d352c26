import { isLocalDate } from '../lib/time.ts';

/** Units of numbers that count from 1970-01-01T00:00Z, with their length in milliseconds. */
export const epochUnits = { seconds: 1e3, milliseconds: 1, microseconds: 1e-3, nanoseconds: 1e-6 } as const;
export type EpochUnit = keyof typeof epochUnits;

/** How the times of a column are written. */
export interface TimeFormatGuess {
  /** `iso`, a unit since 1970, or a pattern such as `%d.%m.%Y %H:%M`. */
  format: string;
  /** Share of the texts that the format fits. */
  share: number;
  hasZone: boolean;
  /** Another format that fits equally many texts: day and month may be exchanged. */
  rival?: string;
}

const zone = String.raw`( ?(Z|[+-]\d{2}(:?\d{2})?))?`;
const isoPattern = new RegExp(
  String.raw`^\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?${zone})?$`,
  'i',
);
const isoZonePattern = /[T ].*(Z|[+-]\d{2}(:?\d{2})?)$/i;
const epochPatterns: ReadonlyArray<readonly [EpochUnit, RegExp]> = [
  ['seconds', /^\d{9,10}(\.\d+)?$/],
  ['milliseconds', /^\d{12,13}$/],
  ['microseconds', /^\d{15,16}$/],
  ['nanoseconds', /^\d{18,19}$/],
];

const dates = [
  '%d.%m.%Y',
  '%d.%m.%y',
  '%d/%m/%Y',
  '%m/%d/%Y',
  '%Y/%m/%d',
  '%d-%m-%Y',
  '%d/%m/%y',
  '%m/%d/%y',
  '%Y%m%d',
];
const clocks = ['', ' %H:%M:%S', ' %H:%M', ' %H:%M:%S.%f', ' %I:%M:%S %p', ' %I:%M %p'];
const parts: Readonly<Record<string, string>> = {
  '%d': String.raw`(?<d>0?[1-9]|[12]\d|3[01])`,
  '%m': '(?<m>0?[1-9]|1[0-2])',
  '%Y': String.raw`(?<y>\d{4})`,
  '%y': String.raw`(?<y>\d{2})`,
  '%H': String.raw`(?<H>[01]?\d|2[0-3])`,
  '%I': '(?<H>0?[1-9]|1[0-2])',
  '%M': String.raw`(?<M>[0-5]\d)`,
  '%S': String.raw`(?<S>[0-5]\d)`,
  '%f': String.raw`\d{1,6}`,
  '%p': '(?<p>[AaPp][Mm])',
};
const candidates = dates.flatMap((date) =>
  clocks.map((clock) => {
    const format = date + clock;
    const pattern = format.replaceAll('.', '\\.').replace(/%[A-Za-z]/g, (part) => parts[part]!);
    return { format, pattern: new RegExp(`^${pattern}$`) };
  }),
);

/** @param texts the cells of a column that are not empty */
export function guessTimeFormat(texts: readonly string[]): TimeFormatGuess | undefined {
  if (texts.length === 0) return undefined;
  const share = (fits: (text: string) => boolean) => texts.filter(fits).length / texts.length;
  const iso = share((text) => isoPattern.test(text));
  if (iso > 0) return { format: 'iso', share: iso, hasZone: share((text) => isoZonePattern.test(text)) > 0 };
  for (const [format, pattern] of epochPatterns) {
    const fits = share((text) => pattern.test(text));
    if (fits > 0.5) return { format, share: fits, hasZone: true };
  }
  const fitting = candidates
    .map(({ format, pattern }) => ({
      format,
      share: share((text) => pattern.test(text)),
      falls: countFalls(texts, pattern),
    }))
    .filter((candidate) => candidate.share > 0)
    // If day and month can be exchanged: the times of a log rise, and times with AM and PM have the month
    // first.
    .sort(
      (left, right) =>
        right.share - left.share ||
        left.falls - right.falls ||
        Number(isAmerican(right)) - Number(isAmerican(left)),
    );
  const [best, next] = fitting;
  return (
    best && {
      format: best.format,
      share: best.share,
      hasZone: false,
      ...(next?.share === best.share && { rival: next.format }),
    }
  );
}

function isAmerican({ format }: { format: string }): boolean {
  return format.startsWith('%m') && format.endsWith('%p');
}

function countFalls(texts: readonly string[], pattern: RegExp): number {
  let falls = 0;
  let before = '';
  for (const text of texts) {
    const { y, m, d, H = '', M = '', S = '', p = '' } = pattern.exec(text)?.groups ?? {};
    if (y === undefined) continue;
    const hour = p === '' ? H : String((Number(H) % 12) + (p.toLowerCase() === 'pm' ? 12 : 0));
    const now = [y, m!, d!, hour, M, S].map((part) => part.padStart(4, '0')).join('');
    if (now < before) falls += 1;
    before = now;
  }
  return falls;
}

/**
 * Reads a time in a pattern of `guessTimeFormat`, or in a unit since 1970.
 * @returns the time that a clock shows, as if it were UTC, or an instant. Undefined if the text does not fit
 *   the format
 */
export function parseTime(
  text: string,
  format: string,
): { kind: 'local' | 'instant'; ms: number } | undefined {
  if (Object.hasOwn(epochUnits, format)) {
    const isNumber = /^\d{1,19}(\.\d+)?$/.test(text);
    return isNumber
      ? { kind: 'instant', ms: Math.round(Number(text) * epochUnits[format as EpochUnit]) }
      : undefined;
  }
  const pattern = candidates.find((candidate) => candidate.format === format)?.pattern;
  const { y, m, d, H = '0', M = '0', S = '0', p } = pattern?.exec(text)?.groups ?? {};
  if (y === undefined) return undefined;
  const year = y.length === 4 ? Number(y) : 2000 + Number(y) - (Number(y) >= 69 ? 100 : 0);
  const date = `${year}-${m!.padStart(2, '0')}-${d!.padStart(2, '0')}`;
  if (!isLocalDate(date)) return undefined;
  const hour = p === undefined ? Number(H) : (Number(H) % 12) + (p.toLowerCase() === 'pm' ? 12 : 0);
  return { kind: 'local', ms: Date.parse(date) + ((hour * 60 + Number(M)) * 60 + Number(S)) * 1_000 };
}
