import type { FastifyInstance, FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { StreamError } from '../contract/stream-errors.ts';
import { shortenText } from '../lib/clip-text.ts';
import { nearest } from '../lib/input-words.ts';

/** Unknown names are cut to this length in errors. */
const NAME_CHARACTERS_MAX = 60;
/** The shortest part of a known name that counts as a guess: `zone` means timezone, `to` means nothing. */
const PART_CHARACTERS_MIN = 3;

/**
 * Refuses query parameters that are unknown, empty, or repeated where one value is expected, for all routes
 * below a prefix. If the parameter were ignored, the answer would be to another question.
 * @param compile builds the check of the values, which runs afterwards
 */
export function refuseUnknownParameters(
  app: FastifyInstance,
  prefix: string,
  compile: FastifySchemaCompiler<z.ZodType>,
): void {
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith(prefix) || route.schema?.hide || route.schema?.querystring) return;
    route.schema = { ...route.schema, querystring: z.object({}) };
  });
  app.setValidatorCompiler<z.ZodType>((route) => {
    const checkValues = compile(route);
    const { schema, httpPart, url } = route;
    if (httpPart !== 'querystring' || !url.startsWith(prefix)) return checkValues;
    if (!(schema instanceof z.ZodObject)) throw new TypeError(`the query of ${url} must be a z.object`);
    const shape = new Map(Object.entries<z.ZodType>(schema.shape));
    return (query: Record<string, unknown>) => {
      const error = checkNames(query, shape);
      return error ? { error } : checkValues(query);
    };
  });
}

function checkNames(
  query: Record<string, unknown>,
  shape: ReadonlyMap<string, z.ZodType>,
): StreamError | undefined {
  const unknown = Object.keys(query).filter((name) => !shape.has(name));
  if (unknown.length > 0) return unknownError(unknown, [...shape.keys()]);
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : [value];
    if (values.includes('')) return refusal(name, 'is empty; give it a value, or leave it out');
    if (values.length > 1 && !takesList(shape.get(name)!))
      return refusal(name, `is given ${values.length} times; give it once`);
  }
  return undefined;
}

function unknownError(unknown: readonly string[], known: readonly string[]): StreamError {
  const verb = unknown.length === 1 ? 'is not a known parameter' : 'are not known parameters';
  const suggestions = [...new Set(unknown.map((name) => meantBy(name, known)))].filter(
    (name) => name !== undefined,
  );
  const possible = listed(known);
  if (suggestions.length === 0) return refusal(unknown, `${verb}; this request takes ${possible}`);
  const question =
    unknown.length === 1
      ? `is it ${suggestions[0]}`
      : `${suggestions.length === 1 ? 'is' : 'are'} ${listed(suggestions)} meant`;
  return refusal(unknown, `${verb}; ${question}? This request takes ${possible}`);
}

/** The known name that differs by one or two letters, or the only one that contains the unknown name. */
function meantBy(written: string, known: readonly string[]): string | undefined {
  const near = nearest(written, known);
  if (near !== undefined || written.length < PART_CHARACTERS_MIN) return near;
  const longer = known.filter((name) => name.toLowerCase().includes(written.toLowerCase()));
  return longer.length === 1 ? longer[0] : undefined;
}

function takesList(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return takesList(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.some(takesList);
  return schema instanceof z.ZodArray;
}

function refusal(names: string | readonly string[], message: string): StreamError {
  const list = [names].flat();
  const shortNames = list.map((name) => shortenText(name, NAME_CHARACTERS_MAX) || '""');
  return new StreamError('InvalidRequest', `${shortNames.slice(0, 5).join(', ')}: ${message}`, {
    parameter: list[0]!,
  });
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'no parameters';
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
