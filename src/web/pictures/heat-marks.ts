/** What a cell of a heat map says of its day. */
export type CellState = 'good' | 'noted' | 'doubtful' | 'bad' | 'missing' | 'future';

export interface HeatRow {
  key: string;
  name: string;
  /** The state of each column. */
  states: readonly CellState[];
  /** A cell in words, what it is and why, and what it leads to. */
  cellAt(column: number): { words: string; href: string | undefined };
}

/** A mark in the middle of a cell, of a size in pixels. */
export const signOf: Partial<Record<CellState, (size: number) => string>> = {
  noted: (s) => `m${-s / 2} 0h${s}`,
  doubtful: (s) => `m${-s} ${s}l${2 * s} ${-2 * s}`,
  bad: (s) => `m${-s} ${-s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}`,
};

/** The pattern that fills a cell instead of its colour. */
export const patternOf: Partial<Record<CellState, string>> = { missing: 'url(#heat-hatch)' };
