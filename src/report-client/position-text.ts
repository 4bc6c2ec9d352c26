import type { Position } from '../client/position.ts';
import { bigintAsText } from '../lib/json-text.ts';

const OFFSETS: ReadonlySet<string> = new Set(['offset', 'lastOffset', 'from', 'to']);

/** A position as text, to store it in a file or a database. */
export function positionText(position: Position): string {
  return JSON.stringify(position, bigintAsText);
}

/**
 * The position of a text of `positionText`.
 * @throws SyntaxError if it is none
 */
export function parsePosition(text: string): Position {
  const position = JSON.parse(text, (name, value: unknown) =>
    OFFSETS.has(name) && typeof value === 'string' ? BigInt(value) : value,
  ) as Position;
  if (typeof position !== 'object' || position === null || typeof position.ask?.kind !== 'string')
    throw new SyntaxError('this is not a position of a stream');
  return position;
}
