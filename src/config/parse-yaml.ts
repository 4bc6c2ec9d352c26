import { parseDocument } from 'yaml';
import { errorMessage, type Problem } from '../lib/errors.ts';

/**
 * The value of a YAML document. A document with errors gives one problem, because only the first error of the
 * syntax is reliable.
 */
export function parseYaml(text: string): { value: unknown } | { problem: Problem } {
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error) return refuse(`is not YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`);
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return isCircular(value) ? refuse('an alias contains itself') : { value };
  } catch (error) {
    return refuse(errorMessage(error));
  }
}

function refuse(message: string): { problem: Problem } {
  return { problem: { path: '', message } };
}

function isCircular(value: unknown, within: readonly unknown[] = []): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return within.includes(value) || Object.values(value).some((item) => isCircular(item, [...within, value]));
}
