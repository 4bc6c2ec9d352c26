import type { z } from 'zod';
import type { Problem } from '../lib/errors.ts';

/** The problems of a zod error that was parsed with `inWords`. */
export function zodProblems(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) => problemsOf(issue, issue.path));
}

function problemsOf(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    const messages = issue.message.split('\n');
    return issue.keys.map((key, index) => ({ path: [...path, key].join('.'), message: messages[index]! }));
  }
  if (issue.code === 'invalid_key') return issue.issues.flatMap((inner) => problemsOf(inner, path));
  const branch = issue.code === 'invalid_union' ? issue.errors.find(hasItsShape) : undefined;
  if (branch) return branch.flatMap((inner) => problemsOf(inner, [...path, ...inner.path]));
  return [{ path: path.join('.'), message: issue.message }];
}

/**
 * True if the value is of this branch of a union, and only parts of it are wrong. Then the parts say more
 * than the union.
 */
function hasItsShape(branch: readonly z.core.$ZodIssue[]): boolean {
  return branch.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys');
}
