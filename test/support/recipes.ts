import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { blocksOf, pages } from './readme.ts';

/** A query that people paste, with the text of the page about its answer. */
export interface Recipe {
  title: string;
  sql: string;
  columns: string[];
  says: string;
  /** True if the query reads the files of the lake. Other queries read the views. */
  isOnFiles: boolean;
}

/** The queries of the cookbook. A title can have two of them: one on the views, and one on the files. */
export const recipes: readonly Recipe[] = pages
  .get('docs/cookbook.md')!
  .split(/^## /m)
  .slice(1)
  .flatMap((says) => {
    const title = says.slice(0, says.indexOf('\n'));
    const columns = [...says.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!);
    return [...says.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql]) =>
      recipeOf({ title, sql: sql!, columns, says }),
    );
  });

/** The queries of the page on the lake, which say in a comment what they answer. */
export const lakeRecipes: readonly Recipe[] = blocksOf('docs/lake.md', 'sql').map((sql) =>
  recipeOf({ title: `lake.md: ${sql.split('\n')[0]!.replace(/^-- /, '')}`, sql, columns: [], says: '' }),
);

function recipeOf(recipe: Omit<Recipe, 'isOnFiles'>): Recipe {
  return { ...recipe, isOnFiles: recipe.sql.includes('read_parquet') };
}

export interface RecipeAnswer {
  columns: string[];
  rows: Array<Record<string, unknown>>;
}

/**
 * Runs a query on the lake of a workgroup, like a person who pastes it.
 * @param lake the folder of the workgroup's lake
 * @param change replaces the examples of the query, such as the year
 */
export async function askRecipe(
  lake: string,
  { sql, isOnFiles }: Recipe,
  change: (sql: string) => string = (text) => text,
): Promise<RecipeAnswer> {
  const instance = isOnFiles
    ? await DuckDBInstance.create(':memory:', { threads: '1' })
    : await DuckDBInstance.create(join(lake, 'current', 'analytics.duckdb'), {
        access_mode: 'READ_ONLY',
        threads: '1',
      });
  try {
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(change(sql.replaceAll('data/lake/home', lake)));
    return {
      columns: reader.columnNames(),
      rows: reader.getRowObjectsJson().map((row) => {
        const values = Object.entries(row).map(([name, value]) => [name, plain(value)]);
        return Object.fromEntries(values);
      }),
    };
  } finally {
    instance.closeSync();
  }
}

/** DuckDB returns large integers as text. */
function plain(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
}
