import { z } from 'zod';
import { tableNameSchema } from '../contract/messages.ts';
import { mappingSchema } from '../import/mapping.ts';
import type { OperationName, Operations } from './operations.ts';

/**
 * The operations that other processes may ask the owner of a warehouse for (see `src/control`), with the form of their arguments:
 * what is not here cannot be asked for. Arguments come from outside, so they are parsed.
 */
export const askable = {
  status: z.undefined(),
  importStart: z.strictObject({ path: z.string(), table: tableNameSchema, mapping: mappingSchema }),
  importState: z.undefined(),
  importStop: z.undefined(),
} satisfies { readonly [Name in OperationName]?: z.ZodType<Operations[Name]['args']> };
export type AskableName = keyof typeof askable;

export function isAskable(name: string): name is AskableName {
  return Object.hasOwn(askable, name);
}
