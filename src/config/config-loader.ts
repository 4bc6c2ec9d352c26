import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cannotBeRead, InputError, type Problem } from '../lib/errors.ts';
import { inWords } from '../lib/input-words.ts';
import { isObject } from '../lib/is-object.ts';
import { type Config, exportsCheck, mainSchema } from './config.ts';
import { noteOldNames, renameInWorkgroup, renamePipeline } from './old-names.ts';
import { parseYaml } from './parse-yaml.ts';
import { type Environment, resolveReferences } from './resolve-references.ts';
import { withAwsVariables } from './storage-settings.ts';
import { createWorkgroupFiles, type WorkgroupFile } from './workgroup-files.ts';
import { zodProblems } from './zod-problems.ts';

export interface LoadOptions {
  /** The file. Default: `wattline.yaml` in `cwd`, if it exists. */
  path?: string | undefined;
  cwd: string;
  environment: Environment;
  /**
   * True if a missing configuration is an error. Otherwise all settings have their defaults, and there are no
   * workgroups.
   */
  isRequired?: boolean;
}

/**
 * Reads one configuration again and again. Files of workgroups that have not changed are not parsed again.
 */
export interface ConfigLoader {
  /** @throws InputError with all problems and their paths */
  load(): Config;
  /** Like `load`, but other work runs in between. */
  reload(): Promise<Config>;
}

/** Environment variables that override the file. */
const environmentPaths: Readonly<Record<string, readonly string[]>> = {
  WATTLINE_DATA_DIR: ['dataDir'],
  WATTLINE_LOG_LEVEL: ['logLevel'],
  WATTLINE_HOST: ['http', 'host'],
  WATTLINE_PORT: ['http', 'port'],
  WATTLINE_STREAM_PORT: ['http', 'streamPort'],
  WATTLINE_REPORT_PORT: ['http', 'reportPort'],
  WATTLINE_METRICS_HOST: ['metrics', 'host'],
  WATTLINE_METRICS_PORT: ['metrics', 'port'],
  WATTLINE_STREAM_LOG: ['stream', 'log'],
  WATTLINE_STREAM_REDIS_URL: ['stream', 'redisUrl'],
  WATTLINE_QUEUE_BACKEND: ['queue', 'backend'],
  WATTLINE_REDIS_URL: ['queue', 'redisUrl'],
  WATTLINE_WORKER_HOST: ['worker', 'host'],
  WATTLINE_WORKER_PORT: ['worker', 'port'],
  WATTLINE_WORKER_ADDRESS: ['worker', 'address'],
  WATTLINE_JWKS_FILE: ['access', 'jwksFile'],
};

/** The folder next to the configuration that is read without a setting. */
export const WORKGROUPS_FOLDER = 'workgroups.d';
/** A reload gives other work a turn after this time. */
const TURN_MS = 10;

/**
 * The configuration: the file, the files of workgroups, then the environment, then the defaults. Relative
 * paths start at the folder of the file that names them.
 */
export function createConfigLoader(options: LoadOptions): ConfigLoader {
  const files = createWorkgroupFiles();
  const path = resolve(options.cwd, options.path ?? 'wattline.yaml');
  const base = dirname(path);
  const absolute = (file: string) => (isAbsolute(file) ? file : join(base, file));

  function* steps(): Generator<undefined, Config> {
    const problems: Problem[] = [];
    const settings = readSettings(problems);
    const oldNames = renamePipeline(settings);
    const oldNamesOfWorkgroups = workgroupsOf(settings).map(renameInWorkgroup);
    const parsed = mainSchema.safeParse(settings, inWords);
    if (!parsed.success) {
      // A missing reference is reported once, not again for the empty text in its place.
      const reported = new Set(problems.map((problem) => problem.path));
      problems.push(...zodProblems(parsed.error).filter((problem) => !reported.has(problem.path)));
    }
    const members = isObject(settings) ? settings : {};
    const more = yield* readFolder(members.workgroupsDir, problems);
    problems.push(...checkTogether(members, more));
    if (problems.length > 0 || !parsed.success) throw new InputError(`the configuration ${path}`, problems);
    const config = parsed.data;
    for (const [index, workgroup] of config.workgroups.entries())
      noteOldNames(workgroup, oldNamesOfWorkgroups[index] ?? []);
    const loaded: Config = {
      ...withAbsolutePaths(config, absolute),
      workgroups: [...config.workgroups, ...more.flatMap(({ workgroups }) => workgroups)],
    };
    noteOldNames(loaded, oldNames);
    return loaded;
  }

  /** The settings of the main file, with the values of references and of the environment. */
  function readSettings(problems: Problem[]): unknown {
    const raw = options.path !== undefined || existsSync(path) ? readMain(path, problems) : {};
    const settings = resolveReferences(raw ?? {}, '', { ...options, base, problems });
    if (isObject(settings)) {
      applyEnvironment(settings, options.environment);
      addAwsVariables(settings, options.environment);
    }
    return settings;
  }

  /** Reads the files of workgroups. @param name the setting of their folder; empty if it has a problem */
  function* readFolder(name: unknown, problems: Problem[]): Generator<undefined, readonly WorkgroupFile[]> {
    const folder = typeof name === 'string' && name !== '' ? name : undefined;
    const shownAs = folder ?? WORKGROUPS_FOLDER;
    const found = yield* files.read(absolute(shownAs), shownAs, options.environment);
    if (found !== undefined) return found;
    if (folder !== undefined)
      problems.push({ path: 'workgroupsDir', message: `the folder ${absolute(folder)} does not exist` });
    if (options.isRequired && options.path === undefined && !existsSync(path))
      throw noConfiguration(path, absolute(shownAs));
    return [];
  }

  return {
    load() {
      const loading = steps();
      for (;;) {
        const step = loading.next();
        if (step.done) return step.value;
      }
    },
    async reload() {
      const loading = steps();
      for (let turnAtMs = performance.now() + TURN_MS; ; ) {
        const step = loading.next();
        if (step.done) return step.value;
        if (performance.now() < turnAtMs) continue;
        await nextTurn();
        turnAtMs = performance.now() + TURN_MS;
      }
    },
  };
}

/** The configuration with absolute paths in place of those that start at the folder of its file. */
function withAbsolutePaths(config: Config, absolute: (path: string) => string): Config {
  const { access, exports } = config;
  return {
    ...config,
    dataDir: absolute(config.dataDir),
    access: { ...access, ...(access.jwksFile && { jwksFile: absolute(access.jwksFile) }) },
    exports: exports.map(({ destination, ...rest }) => ({
      ...rest,
      destination: { ...destination, ...(destination.folder && { folder: absolute(destination.folder) }) },
    })),
  };
}

function noConfiguration(path: string, folder: string): InputError {
  const message = `there is neither ${path} nor a folder ${folder}; change to the folder of the configuration, or name the file with --config. "wattline demo" runs without one, and docs/configuration.md shows how to write one`;
  return new InputError('the configuration', [{ path: '', message }]);
}

function readMain(path: string, problems: Problem[]): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const message = `${cannotBeRead(error)}; name another with --config`;
    throw new InputError(`the configuration ${path}`, [{ path: '', message }]);
  }
  const parsed = parseYaml(text);
  if ('value' in parsed) return parsed.value;
  problems.push(parsed.problem);
  return {};
}

/** The problems of the files, and problems between settings of several files. */
function checkTogether(settings: Record<string, unknown>, files: readonly WorkgroupFile[]): Problem[] {
  const own = workgroupsOf(settings);
  const places = new Map<string, string>();
  // Ids of the main file alone are checked by its schema.
  for (const id of own.flatMap(idOf)) places.set(id.toLowerCase(), 'workgroups of the main file');
  const doubled = files.flatMap(({ name, raw }) =>
    raw.flatMap((workgroup) => {
      const [id] = idOf(workgroup);
      if (id === undefined) return [];
      const place = places.get(id.toLowerCase());
      if (place === undefined) {
        places.set(id.toLowerCase(), name);
        return [];
      }
      const message = `"${id}" is used twice; the other is in ${place}`;
      return [{ path: `${name}: id`, message }];
    }),
  );
  const { exports } = settings;
  const all = { exports, workgroups: [...own, ...files.flatMap(({ raw }) => raw)] };
  const checked = exports === undefined ? undefined : exportsCheck.safeParse(all, inWords);
  return [
    ...files.flatMap(({ problems }) => problems),
    ...doubled,
    ...(checked?.error ? zodProblems(checked.error) : []),
  ];
}

function workgroupsOf(settings: unknown): unknown[] {
  return isObject(settings) && Array.isArray(settings.workgroups) ? settings.workgroups : [];
}

function idOf(workgroup: unknown): string[] {
  const id = isObject(workgroup) ? workgroup.id : undefined;
  return typeof id === 'string' ? [id] : [];
}

function applyEnvironment(config: Record<string, unknown>, environment: Environment): void {
  for (const [name, path] of Object.entries(environmentPaths)) {
    const value = environment[name];
    if (value === undefined) continue;
    let section: unknown = config;
    for (const key of path.slice(0, -1)) {
      if (isObject(section)) section = section[key] ??= {};
    }
    // The schema reports a section of another type.
    if (isObject(section)) section[path.at(-1)!] = value;
  }
}

function addAwsVariables(config: Record<string, unknown>, environment: Environment): void {
  for (const section of [config.storage, config.backup])
    if (isObject(section) && isObject(section.s3)) section.s3 = withAwsVariables(section.s3, environment);
}
