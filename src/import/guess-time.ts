import type { EpochUnit } from './import-mapping.ts';

/** How the times of a column are written, as far as a sample tells. */
export interface TimeGuess {
  format: string;
  /** The share of the sample that it fits. */
  share: number;
  hasZone: boolean;
  /** Another format that fits as well: day and month may be the other way round. */
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
export function guessTime(texts: readonly string[]): TimeGuess | undefined {
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
    // Where day and month could be either, the times of a log rise; and who counts to twelve hours writes the month first.
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
