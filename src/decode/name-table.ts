import { serviceLimits } from '../contract/service-limits.ts';
import { TerminalError } from '../lib/errors.ts';
import type { NameTable } from './message-columns.ts';

/** There is no room for one more name. Names that are known keep their ids. */
export class TooManyNamesError extends TerminalError {
  constructor(max: number) {
    super(
      'TooManyNames',
      `the workgroup has ${max} names of tables, sources and fields already: send what changes as a value, not in a name`,
      { details: { max } },
    );
  }
}

/**
 * Names as small integers, kept in memory: ids run on from the highest known one and never change.
 * @param max names beyond it get no id; those that are known stay, also where there are more
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
