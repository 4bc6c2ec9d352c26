import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { errorMessage, InputError, type Problem } from '../lib/errors.ts';
import { inWords } from '../lib/input-words.ts';
import { type Config, configSchema } from './config.ts';
import { withAwsVariables } from './storage-settings.ts';

/** Environment variables that override the file. */
const environmentPaths: Readonly<Record<string, readonly string[]>> = {
  WATTLINE_DATA_DIR: ['dataDir'],
  WATTLINE_LOG_LEVEL: ['logLevel'],
  WATTLINE_HOST: ['http', 'host'],
  WATTLINE_PORT: ['http', 'port'],
  WATTLINE_STREAM_PORT: ['http', 'streamPort'],
  WATTLINE_REPORT_PORT: ['http', 'reportPort'],
  WATTLINE_STREAM_LOG: ['stream', 'log'],
  WATTLINE_STREAM_REDIS_URL: ['stream', 'redisUrl'],
  WATTLINE_QUEUE_BACKEND: ['queue', 'backend'],
  WATTLINE_REDIS_URL: ['queue', 'redisUrl'],
  WATTLINE_JWKS_FILE: ['access', 'jwksFile'],
};

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the configuration: the file, then the environment, then the defaults. `${NAME}` is replaced by the environment variable, and
 * `{ file: path }` by the trimmed content of a file, so secrets can stay out of the configuration. Relative paths start at the folder of the
 * configuration.
 * @param path the file. Default: `wattline.yaml` in `cwd`, if it exists
 * @throws InputError with all problems and their paths
 */
export function loadConfig(options: {
  path?: string | undefined;
  cwd: string;
  environment: Environment;
}): Config {
  const path = resolve(options.cwd, options.path ?? 'wattline.yaml');
  const base = dirname(path);
  const problems: Problem[] = [];
  let raw: unknown = {};
  if (options.path !== undefined || existsSync(path)) {
    raw = parseYaml(path, problems);
  }
  const resolved = resolveReferences(raw ?? {}, '', { ...options, base, problems });
  if (isSettings(resolved)) {
    applyEnvironment(resolved, options.environment);
    const { storage } = resolved;
    if (isSettings(storage) && isSettings(storage.s3))
      storage.s3 = withAwsVariables(storage.s3, options.environment);
  }
  const parsed = configSchema.safeParse(resolved, inWords);
  if (!parsed.success) {
    // A missing reference is reported once, not again for the empty text in its place.
    const reported = new Set(problems.map((problem) => problem.path));
    problems.push(...zodProblems(parsed.error).filter(({ path }) => !reported.has(path)));
  }
  if (problems.length > 0 || !parsed.success) throw new InputError(`the configuration ${path}`, problems);
  const config = parsed.data;
  const absolute = (file: string) => (isAbsolute(file) ? file : join(base, file));
  return {
    ...config,
    dataDir: absolute(config.dataDir),
    access: {
      ...config.access,
      ...(config.access.jwksFile && { jwksFile: absolute(config.access.jwksFile) }),
    },
    exports: config.exports.map(({ destination, ...rest }) => ({
      ...rest,
      destination: {
        ...destination,
        ...(destination.folder && { folder: absolute(destination.folder) }),
      },
    })),
  };
}

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

function parseYaml(path: string, problems: Problem[]): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InputError(`the configuration ${path}`, [
      {
        path: '',
        message: `cannot be read (${(error as NodeJS.ErrnoException).code}); name another with --config`,
      },
    ]);
  }
  const document = parseDocument(text, { prettyErrors: true });
  // Only the first error of the syntax is reliable.
  const [error] = document.errors;
  if (error) {
    problems.push({ path: '', message: `is not YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}` });
    return {};
  }
  try {
    const settings: unknown = document.toJS({ maxAliasCount: 100 });
    if (!isCircular(settings)) return settings;
    problems.push({ path: '', message: 'an alias contains itself' });
    return {};
  } catch (error) {
    problems.push({ path: '', message: errorMessage(error) });
    return {};
  }
}

function isCircular(value: unknown, within: readonly unknown[] = []): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return within.includes(value) || Object.values(value).some((item) => isCircular(item, [...within, value]));
}

function isSettings(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface ReferenceContext {
  environment: Environment;
  base: string;
  problems: Problem[];
}

function resolveReferences(value: unknown, path: string, context: ReferenceContext): unknown {
  const at = (key: string | number) => (path ? `${path}.${key}` : String(key));
  if (typeof value === 'string') {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const found = context.environment[name];
      if (found === undefined)
        context.problems.push({ path, message: `the environment has no variable ${name}` });
      return found ?? '';
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => resolveReferences(item, at(index), context));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === 'file') {
    const file = String((value as { file: unknown }).file);
    try {
      return readFileSync(resolve(context.base, file), 'utf8').trim();
    } catch (error) {
      context.problems.push({
        path,
        message: `the file ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      });
      return '';
    }
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolveReferences(item, at(key), context)]),
  );
}

function applyEnvironment(config: Record<string, unknown>, environment: Environment): void {
  for (const [name, path] of Object.entries(environmentPaths)) {
    const value = environment[name];
    if (value === undefined) continue;
    let section: unknown = config;
    for (const key of path.slice(0, -1)) {
      if (isSettings(section)) section = section[key] ??= {};
    }
    // The schema reports a section of another type.
    if (isSettings(section)) section[path.at(-1)!] = value;
  }
}
