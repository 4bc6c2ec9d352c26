import { serviceLimits } from '../contract/service-limits.ts';
import { TerminalError } from '../lib/errors.ts';
import type { NameTable } from './message-columns.ts';

/** There is no room for a new name. Known names keep their ids. */
export class TooManyNamesError extends TerminalError {
  constructor(max: number) {
    super(
      'TooManyNames',
      `the workgroup has ${max} names of tables, sources and fields already, which is the limit: send changing values in fields, not in names`,
      { details: { max } },
    );
  }
}

/**
 * Creates a table of names in memory. New ids follow the highest known id and never change.
 * @param max new names beyond this count get no id; known names always keep theirs
 */
export function createNameTable(
  known: Iterable<{ id: number; name: string }> = [],
  max: number = serviceLimits.namesPerWorkgroup,
): NameTable {
  const ids = new Map<string, number>();
  const namesById = new Map<number, string>();
  let added: Array<{ id: number; name: string }> = [];
  let nextId = 0;
  for (const { id, name } of known) {
    ids.set(name, id);
    namesById.set(id, name);
    nextId = Math.max(nextId, id + 1);
  }
  return {
    idOf(name) {
      const existing = ids.get(name);
      if (existing !== undefined) return existing;
      if (ids.size >= max) throw new TooManyNamesError(max);
      const id = nextId++;
      ids.set(name, id);
      namesById.set(id, name);
      added.push({ id, name });
      return id;
    },
    takes: (name) => ids.size < max || ids.has(name),
    nameOf(id) {
      const name = namesById.get(id);
      if (name === undefined) throw new RangeError(`no name has the id ${id}`);
      return name;
    },
    takeNew() {
      const taken = added;
      added = [];
      return taken;
    },
  };
}
