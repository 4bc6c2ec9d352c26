import { hash } from '../../src/simulate/noise.ts';

/**
 * Random numbers that follow only from a seed and a label. A new number in one place changes no other number.
 */
export interface Chance {
  /** For noise curves that belong to this recording. */
  readonly seed: number;
  /** From 0 up to, not including, 1. */
  uniform(label: string, index?: number): number;
  between(label: string, low: number, high: number, index?: number): number;
  /** Like `between`, but all orders of magnitude are equally likely. */
  magnitude(label: string, low: number, high: number): number;
  /** A whole number, both bounds included. */
  whole(label: string, low: number, high: number, index?: number): number;
  isTrue(label: string, share: number, index?: number): boolean;
  pick<Item>(label: string, items: readonly Item[], index?: number): Item;
  weighted<Item>(label: string, items: ReadonlyArray<readonly [share: number, item: Item]>): Item;
  /** Separate random numbers for one part, such as a fault. */
  of(part: string): Chance;
}

export function createChance(seed: number, part = ''): Chance {
  const labels = new Map<string, number>();

  function uniform(label: string, index = 0): number {
    let word = labels.get(label);
    if (word === undefined) {
      word = hash(0, ...[...`${part}/${label}`].map((letter) => letter.codePointAt(0)!));
      labels.set(label, word);
    }
    return hash(seed, word, index) / 0x1_0000_0000;
  }
  const between: Chance['between'] = (label, low, high, index) => low + (high - low) * uniform(label, index);
  return {
    seed,
    uniform,
    between,
    magnitude: (label, low, high) => Math.exp(between(label, Math.log(low), Math.log(high))),
    whole: (label, low, high, index) => Math.floor(between(label, low, high + 1, index)),
    isTrue: (label, share, index) => uniform(label, index) < share,
    pick: (label, items, index) => items[Math.floor(uniform(label, index) * items.length)]!,
    weighted(label, items) {
      let left = uniform(label) * items.reduce((sum, [share]) => sum + share, 0);
      for (const [share, item] of items) {
        left -= share;
        if (left < 0) return item;
      }
      return items.at(-1)![1];
    },
    of: (name) => createChance(seed, `${part}/${name}`),
  };
}
