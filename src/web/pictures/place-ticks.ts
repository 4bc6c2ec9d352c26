/** The width of a character in the labels of an axis, in pixels. */
const CHARACTER_WIDTH = 6.5;
/** Steps in which people count days, and hours. */
const steps = { days: [1, 2, 5, 10, 15], hours: [1, 2, 3, 6, 12] } as const;

/**
 * Chooses the labels of an axis that have room next to each other. Names, such as those of months, come
 * first. Numbers stand at even steps: 5, 10 and 15, or 06:00, 12:00 and 18:00.
 * @param ticks the label of each column; an empty text has none
 * @param band the width of a column, in pixels
 * @returns the columns that have a label
 */
export function placeTicks(ticks: readonly string[], band: number): ReadonlySet<number> {
  const places = new Set<number>();
  const widthOf = (tick: string) => (tick.length + 1) * CHARACTER_WIDTH;
  const isFree = (index: number) =>
    [...places].every(
      (other) => Math.abs(other - index) * band >= (widthOf(ticks[other]!) + widthOf(ticks[index]!)) / 2,
    );
  const labelled = ticks.flatMap((tick, index) => (tick === '' ? [] : [index]));
  const isNumber = (index: number) => /^\d+(:00)?$/.test(ticks[index]!);
  const names = labelled.filter((index) => !isNumber(index));
  const numbers = labelled.filter(isNumber);
  for (const index of names.toSorted((a, b) => ticks[b]!.length - ticks[a]!.length || a - b))
    if (isFree(index)) places.add(index);
  const [first, second] = numbers;
  if (first === undefined) return places;
  const pitch = ((second ?? first + 1) - first) * band;
  const kind = ticks[first]!.includes(':') ? steps.hours : steps.days;
  const step = kind.find((one) => one * pitch >= widthOf(ticks[first]!)) ?? kind.at(-1)!;
  for (const index of numbers)
    if (Number.parseInt(ticks[index]!, 10) % step === 0 && isFree(index)) places.add(index);
  return places;
}
