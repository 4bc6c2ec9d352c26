/** Which character stands before the fraction; the other one may stand between thousands. */
export type Decimal = '.' | ',';

/** @returns undefined where the text is no number that is written so */
export function parseNumber(text: string, decimal: Decimal): number | undefined {
  const plain = /^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d{1,3})?$/;
  const grouped =
    decimal === '.'
      ? /^[+-]?\d{1,3}(?:[, '  ]\d{3})+(?:\.\d+)?$/
      : /^[+-]?\d{1,3}(?:[. '  ]\d{3})+(?:,\d+)?$/;
  let digits = text;
  if (grouped.test(text)) digits = text.replace(decimal === '.' ? /[, '  ]/g : /[. '  ]/g, '');
  else if (!plain.test(text) || text.includes(decimal === '.' ? ',' : '.')) return undefined;
  const number = Number(digits.replace(',', '.'));
  return Number.isFinite(number) ? number : undefined;
}

export type DecimalGuess =
  | { kind: 'decimal'; decimal: Decimal }
  /** Every number that has a comma could be either, such as 1,234. @property at which text */
  | { kind: 'unclear'; at: number };

/** Finds out how the numbers of a column are written; what contradicts it is found when they are read. */
export function guessDecimal(texts: readonly string[]): DecimalGuess {
  let unclear = -1;
  for (const [index, text] of texts.entries()) {
    const comma = text.lastIndexOf(',');
    const dot = text.lastIndexOf('.');
    if (comma < 0) continue;
    if (dot > comma) return { kind: 'decimal', decimal: '.' };
    if (dot >= 0) return { kind: 'decimal', decimal: ',' };
    if (text.indexOf(',') !== comma) return { kind: 'decimal', decimal: '.' };
    if (!/^[+-]?[1-9]\d{0,2},\d{3}$/.test(text)) return { kind: 'decimal', decimal: ',' };
    if (unclear < 0) unclear = index;
  }
  if (unclear < 0) return { kind: 'decimal', decimal: '.' };
  // A fraction after a dot beside them says that the commas stand between thousands.
  return texts.some((text) => text.includes('.'))
    ? { kind: 'decimal', decimal: '.' }
    : { kind: 'unclear', at: unclear };
}
