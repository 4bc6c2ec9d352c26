import type { z } from 'zod';
import type { Problem } from '../lib/errors.ts';

/** The problems of a zod error that was parsed with `inWords`. */
export function zodProblems(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('\n');
      return issue.keys.map((key, index) => ({
        path: [...issue.path, key].join('.'),
        message: messages[index]!,
      }));
    }
    return [{ path: issue.path.join('.'), message: issue.message }];
  });
}
