import { tableNameSchema } from './messages.ts';
import { StreamError } from './stream-errors.ts';

/**
 * Reads the name of a table.
 * @param parameter the parameter of the request that has it, for the error
 * @throws StreamError InvalidRequest
 */
export function parseTable(tableName: unknown, parameter = 'tableName'): string {
  const parsed = tableNameSchema.safeParse(tableName);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new StreamError('InvalidRequest', `the table name ${issue?.message ?? ''}`, { parameter });
}
