import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** A file of the service as its schema describes it. Undefined if it cannot be read or does not match. */
export function readJsonFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): z.output<Schema> | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}
