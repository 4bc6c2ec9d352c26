import { serviceLimits } from '../contract/service-limits.ts';
import { TerminalError } from '../lib/errors.ts';
import type { NameTable, NewNames } from './message-columns.ts';

/** There is no room for a new name, or for a new table. Known ones keep their ids. */
export class TooManyNamesError extends TerminalError {
  /** The reason in the quarantine for messages with such a name. */
  readonly reason: 'too_many_names' | 'too_many_tables';

  constructor(reason: TooManyNamesError['reason'], max: number) {
    super(
      reason === 'too_many_names' ? 'TooManyNames' : 'TooManyTables',
      reason === 'too_many_names'
        ? `the workgroup has ${max} names of tables, sources and fields already, which is the limit: send changing values in fields, not in names`
        : `the workgroup has ${max} tables already, which is the limit: use fewer tables, or raise limits.tablesPerWorkgroup. Then "wattline backfill --source archive" lands the messages that are in the quarantine`,
      { details: { max } },
    );
    this.reason = reason;
  }
}

interface NameTableOptions {
  /** The tables among the known names. */
  tables?: Iterable<string>;
  /** Tables that are taken beyond the limit, too. */
  neededTables?: Iterable<string>;
  /** New names beyond this count get no id; known names always keep theirs. Default: 100,000. */
  namesMax?: number | undefined;
  /** The same for names of tables. Default: only the limit of all names. */
  tablesMax?: number | undefined;
}

/**
 * Creates a table of names in memory. New ids follow the highest known id and never change.
 */
export function createNameTable(
  known: Iterable<{ id: number; name: string }> = [],
  options: NameTableOptions = {},
): NameTable {
  const { namesMax = serviceLimits.namesPerWorkgroup, tablesMax = Number.POSITIVE_INFINITY } = options;
  const ids = new Map<string, number>();
  const namesById = new Map<number, string>();
  const tables = new Set(options.tables);
  const neededTables = new Set(options.neededTables);
  let added = noNewNames();
  let nextId = 0;
  for (const { id, name } of known) {
    ids.set(name, id);
    namesById.set(id, name);
    nextId = Math.max(nextId, id + 1);
  }
  const takes = (name: string) => ids.size < namesMax || ids.has(name);
  const fits = (table: string) => tables.size < tablesMax || tables.has(table) || neededTables.has(table);
  const idOf = (name: string) => {
    const existing = ids.get(name);
    if (existing !== undefined) return existing;
    if (!takes(name)) throw new TooManyNamesError('too_many_names', namesMax);
    const id = nextId++;
    ids.set(name, id);
    namesById.set(id, name);
    added.names.push({ id, name });
    return id;
  };
  return {
    idOf,
    takes,
    tableIdOf(name) {
      if (!fits(name)) throw new TooManyNamesError('too_many_tables', tablesMax);
      const id = idOf(name);
      if (!tables.has(name)) added.tables.push(id);
      tables.add(name);
      return id;
    },
    takesTable: (name) => takes(name) && fits(name),
    nameOf(id) {
      const name = namesById.get(id);
      if (name === undefined) throw new RangeError(`no name has the id ${id}`);
      return name;
    },
    takeNew() {
      const taken = added;
      added = noNewNames();
      return taken;
    },
  };
}

function noNewNames(): NewNames {
  return { names: [], tables: [] };
}
