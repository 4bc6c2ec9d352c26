import { isDecimalNumber } from '../lib/decimal-number.ts';

export type Decimal = '.' | ',';
type Thousands = '.' | ',' | ' ' | "'";

/** How numbers are written. */
export interface NumberFormat {
  /** Stands before the fraction. */
  decimal: Decimal;
  /** Stands between groups of three digits. Undefined: groups are not accepted. */
  thousands?: Thousands | undefined;
}

interface NumberFormatGuess extends NumberFormat {
  /**
   * The first text with another value in another format that fits the texts equally well. Example: `1,234`.
   */
  unclear?: string;
}

/**
 * A regular expression without anchors, for JavaScript and DuckDB (RE2): the numbers of a format with groups.
 */
export function groupedPattern({ decimal, thousands }: { decimal: Decimal; thousands: Thousands }): string {
  const group = thousands === '.' ? '\\.' : thousands;
  const point = decimal === '.' ? '\\.' : decimal;
  return `[+-]?(\\d{1,3}(${group}\\d{3})+|\\d+)(${point}\\d+)?`;
}

/** No group stands behind a zero: `0,125` is a fraction. */
const hasZeroGroup = (text: string, thousands: Thousands) =>
  text.replace(/^[+-]/, '').startsWith(`0${thousands}`);

/** Of formats that fit equally well the first is taken. */
const formats: ReadonlyArray<{ format: NumberFormat; fits: (text: string) => boolean }> = [
  { format: { decimal: ',' }, fits: (text) => /^[+-]?\d+(,\d+)?([eE][+-]?\d+)?$/.test(text) },
  { format: { decimal: '.' }, fits: isDecimalNumber },
  ...(
    [
      { decimal: ',', thousands: '.' },
      { decimal: '.', thousands: ',' },
      { decimal: ',', thousands: ' ' },
      { decimal: '.', thousands: ' ' },
      { decimal: ',', thousands: "'" },
      { decimal: '.', thousands: "'" },
    ] as const
  ).map((format) => {
    const pattern = new RegExp(`^${groupedPattern(format)}$`);
    return {
      format,
      fits: (text: string) => pattern.test(text) && !hasZeroGroup(text, format.thousands),
    };
  }),
];

/**
 * Guesses how numbers are written: the format that fits the most texts. Texts that are not numbers do not
 * matter.
 */
export function guessNumberFormat(texts: readonly string[]): NumberFormatGuess {
  const marked = texts.filter((text) => /\d[.,' ]\d/.test(text));
  const counted = formats
    .map((one) => ({ ...one, count: marked.filter(one.fits).length }))
    .toSorted((left, right) => right.count - left.count);
  const [best, ...others] = counted;
  const { count, fits, format } = best!;
  const pointCount = counted.find((one) => isPoint(one.format))!.count;
  const hasComma = marked.some((text) => /\d,\d/.test(text));
  // A point alone is a decimal point, because programs write it.
  if (count === 0 || (pointCount === count && !hasComma)) return { decimal: '.' };
  const rivals = others.filter((one) => one.count === count && one.format.decimal !== format.decimal);
  const unclear = marked.find(
    (text) =>
      fits(text) &&
      rivals.some(
        (rival) => rival.fits(text) && parseNumber(text, rival.format) !== parseNumber(text, format),
      ),
  );
  return { ...format, ...(unclear !== undefined && { unclear }) };
}

function isPoint({ decimal, thousands }: NumberFormat): boolean {
  return decimal === '.' && thousands === undefined;
}

/** True if the text is a number in this format. */
export function isNumberIn(text: string, { decimal, thousands }: NumberFormat): boolean {
  return formats.some(
    ({ format, fits }) => format.decimal === decimal && format.thousands === thousands && fits(text),
  );
}

/**
 * Characters between groups that need no setting, because they have no other use: apostrophes and blanks, two
 * of them narrow.
 */
const BLANKS = "'\\u0020\\u00a0\\u202f\\u2019";

const readers = {
  '.': readerOf('\\.', `,${BLANKS}`),
  ',': readerOf(',', `.${BLANKS}`),
} as const;

function readerOf(point: string, groups: string) {
  return {
    plain: new RegExp(`^[+-]?\\d+(?:${point}\\d+)?(?:[eE][+-]?\\d{1,3})?$`),
    grouped: new RegExp(`^[+-]?\\d{1,3}(?:[${groups}]\\d{3})+(?:${point}\\d+)?$`),
    group: new RegExp(`[${groups}]`, 'g'),
  };
}

/**
 * Reads a number. Groups of three digits may be separated by blanks or apostrophes. The point separates
 * groups if the decimal is a comma, and the comma does so if the decimal is a point.
 * @returns undefined if the text is not a number with this decimal
 */
export function parseNumber(text: string, { decimal }: Pick<NumberFormat, 'decimal'>): number | undefined {
  const { plain, grouped, group } = readers[decimal];
  const isGrouped = grouped.test(text);
  if (!isGrouped && !plain.test(text)) return undefined;
  const number = Number((isGrouped ? text.replace(group, '') : text).replace(',', '.'));
  return Number.isFinite(number) ? number : undefined;
}
