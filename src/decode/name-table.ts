import type { NameTable } from './message-columns.ts';

/** Names as small integers, kept in memory: ids run on from the highest known one and never change. */
export function createNameTable(known: Iterable<{ id: number; name: string }> = []): NameTable {
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
      const id = nextId++;
      ids.set(name, id);
      namesById.set(id, name);
      added.push({ id, name });
      return id;
    },
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
