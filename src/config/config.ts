import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { deviceIdSchema, nameSchema, workgroupIdSchema } from '../contract/messages.ts';
import { SOCKET_PATH } from '../contract/socket-events.ts';
import { limits } from '../contract/wire-limits.ts';
import { errorMessage, InputError, type Problem } from '../lib/errors.ts';
import { inWords } from '../lib/input-words.ts';
import { readerNames } from '../lib/private-files.ts';
import { isTimeZone } from '../lib/time.ts';
import { formatDuration, parseQuantity } from '../lib/units.ts';
import { peakPowerSchema, roleEntrySchema, roleSchema } from '../roles/role.ts';
import { refuseWrongRoles } from '../roles/validate-roles.ts';
import { energyStreamSchema } from './energy-stream.ts';
import { exportsSchema, refuseWrongExports } from './export-settings.ts';
import { metersSchema, refuseUnknownMeters, sitesSchema } from './meters.ts';

/** A duration such as `1s` or `24h`, in milliseconds once parsed. */
function duration(options: { minMs: number; maxMs: number }) {
  return z.union([z.number(), z.string()]).transform((value, context) => {
    const ms = typeof value === 'number' ? value : parseQuantity('duration', value);
    if (ms === undefined)
      context.addIssue({
        code: 'custom',
        message: 'must be a duration such as "500ms", "5s", "15m", "1h" or "2d"',
      });
    else if (ms < options.minMs || ms > options.maxMs) {
      context.addIssue({
        code: 'custom',
        message: `must be from ${formatDuration(options.minMs)} to ${formatDuration(options.maxMs)}; a number alone is milliseconds`,
      });
    } else return Math.round(ms);
    return z.NEVER;
  });
}

/** How long a device may be silent before it is taken to be offline. */
const deviceTimeout = z.union([z.literal('off'), duration({ minMs: 5_000, maxMs: 30 * 86_400_000 })], {
  error: 'must be "off" or a duration such as "15m", from 5 s to 30 d',
});

const port = z
  .union(
    [
      z.number(),
      z
        .string()
        .regex(/^\d{1,5}$/)
        .transform(Number),
    ],
    { error: 'must be a port from 0 to 65535' },
  )
  .refine((value) => Number.isInteger(value) && value >= 0 && value <= 65_535, {
    error: 'must be a port from 0 to 65535',
  });
const redisUrl = z.url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// address' });
const sentinel = z
  .string()
  .regex(
    /^(rediss?:\/\/([^\s/]+@)?)?[\w.-]+(:\d{1,5})?$/,
    'must be a host and a port, such as "10.0.0.1:26379" or "rediss://:password@10.0.0.1:26379"',
  )
  .transform((text) => (text.includes('://') ? text : `redis://${text}`))
  .refine((text) => URL.canParse(text), 'must have a port from 0 to 65535');
const sentinels = z
  .array(sentinel)
  .min(1)
  .refine((all) => new Set(all.map(sentinelAccess)).size === 1, {
    error:
      'must all be reached in one way: the same user and password, and either all with rediss:// or none',
    when: ({ issues }) => issues.length === 0,
  });
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' });
const socketPath = z.string().regex(/^(\/[A-Za-z0-9._~-]+)+$/, 'must be a path such as "/socket.io-client"');

function sentinelAccess(text: string): string {
  const { protocol, username, password } = new URL(text);
  return [protocol, username, password].join(' ');
}

/** Things that are told apart by a key cannot share one. */
function refuseTwice<Item>(
  items: readonly Item[],
  context: z.RefinementCtx,
  at: keyof Item & string,
  describe: (item: Item) => { key: string; message: string } | undefined | '',
): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const described = describe(item);
    if (!described) continue;
    const { key, message } = described;
    if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, at], message });
    seen.add(key);
  }
}

/** Names and ids are the same however they are capitalised. */
function usedTwice(name: string) {
  return { key: name.toLowerCase(), message: `"${name}" is used twice` };
}

const workgroupFields = z.strictObject({
  // The one name that objects cannot be looked up by.
  id: workgroupIdSchema.refine((id) => id !== '__proto__', { error: 'cannot be "__proto__"' }),
  /** IANA zone that the days of this workgroup are cut in. */
  timezone: z
    .string()
    .refine(isTimeZone, { error: 'is not a time zone of the IANA database, such as "Europe/Paris"' })
    .default('Etc/UTC'),
  /** Fields that tell energy, in the order in which they are tried. */
  energyStreams: z
    .array(energyStreamSchema)
    .default([])
    .superRefine((streams, context) =>
      refuseTwice(streams, context, 'field', ({ table, field, method, as }) => ({
        key: JSON.stringify([table, field, method, as]),
        message: `${table}.${field} is read twice by ${method}${as === undefined ? '' : `, both as ${as}`}; remove one, or write as: <source> to have each booked as a source of its own`,
      })),
    ),
  /** The source that stands for a whole device, where one does; without it a device is the sum of its sources. */
  totalSource: nameSchema.optional(),
  devices: z
    .array(
      z.strictObject({
        id: deviceIdSchema,
        name: nameSchema.optional(),
        totalSource: nameSchema.optional(),
        /** The only sources that add up to the device; a missing one makes its days incomplete. */
        sources: z.array(nameSchema).min(1, 'must name a source, or be left out').optional(),
        /** Which of the roles of its sources the device as a whole is told by. */
        energyRole: roleSchema.optional(),
        /** Of its production, for the specific yield. */
        peakPower: peakPowerSchema.optional(),
      }),
    )
    .default([])
    .superRefine((devices, context) => {
      refuseTwice(devices, context, 'id', ({ id }) => usedTwice(id));
      refuseTwice(devices, context, 'name', ({ name }) => name && usedTwice(name));
    }),
  /** What the energy of sources is: production, consumption, to or from the grid or a battery. */
  roles: z.array(roleEntrySchema).default([]),
  /** Groups that tokens can be restricted to. */
  deviceGroups: z.record(nameSchema, z.array(deviceIdSchema)).default({}),
  /** Meters by their codes: whose readings are uploaded, or those of a device. */
  meters: metersSchema,
  /** Meters and devices that measure the same energy. */
  sites: sitesSchema,
  /** Of this workgroup's devices, instead of that of the stream. */
  deviceTimeout: deviceTimeout.optional(),
  /** Where to poll, where it is not the service's own stream. */
  upstream: z
    .strictObject({
      url: httpUrl,
      token: z.string().min(1).optional(),
      /** The name the other side knows the workgroup by. */
      workgroup: z.string().min(1).optional(),
      table: z.string().min(1).default('-'),
      /** How its stream is read: asked for, or pushed over socket.io, with REST wherever there is no socket to be had. */
      transport: z.enum(['rest', 'socket'], { error: 'must be "rest" or "socket"' }).default('rest'),
      /** Where its socket is, below the address. */
      socketPath: socketPath.default(SOCKET_PATH),
    })
    .optional(),
});

export const workgroupSchema = workgroupFields.superRefine(refuseUnknownMeters).superRefine(refuseWrongRoles);

const settingsSchema = z.strictObject({
  /** Everything Wattline writes lies below this folder. */
  dataDir: z.string().min(1).default('./data'),
  /** Who may read what is written below `dataDir`, keys and tokens aside. */
  dataReaders: z.enum(readerNames).default('owner'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  http: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** `up` serves everything here. */
      port: port.default(8080),
      /** Ports of the roles when they run alone. */
      streamPort: port.default(8080),
      reportPort: port.default(8081),
      requestsPerMinuteMax: z.number().int().positive().default(6_000),
    })
    .prefault({}),
  stream: z
    .strictObject({
      log: z.enum(['lmdb', 'memory', 'redis']).default('lmdb'),
      /** Where the log is redis; that of the queue where it is not given. */
      redisUrl: redisUrl.optional(),
      /** Sentinels to ask where the master is; the host of `redisUrl` is then its name, such as "mymaster". */
      redisSentinels: sentinels.optional(),
      /** Messages are acknowledged once this many replicas of Redis have them, too. */
      redisReplicasMin: z.number().int().min(0).max(10).default(0),
      retention: duration({ minMs: 1_000, maxMs: 30 * 86_400_000 }).default(limits.retentionMs),
      /** The newest messages are also kept in memory, up to this much for each workgroup. */
      cacheMegabytes: z.number().int().min(1).max(65_536).default(64),
      /** Devices that have sent data and are silent for so long are announced as offline. */
      deviceTimeout: deviceTimeout.default('off'),
      /** Where the stream is reached over socket.io. */
      socketPath: socketPath
        .refine((path) => !/^\/(api|docs|health|ready|openapi)/.test(path), {
          error: 'is taken by the service itself: choose another, such as "/socket.io-client"',
        })
        .default(SOCKET_PATH),
    })
    .prefault({}),
  queue: z
    .strictObject({
      backend: z.enum(['pglite', 'redis']).default('pglite'),
      redisUrl: redisUrl.optional(),
    })
    .refine((queue) => queue.backend !== 'redis' || queue.redisUrl, {
      path: ['redisUrl'],
      error: 'is needed where the backend is redis, such as "redis://127.0.0.1:6379"',
    })
    .prefault({}),
  pipeline: z
    .strictObject({
      pollEvery: duration({ minMs: 200, maxMs: 60_000 }).default(1_000),
      rollupEvery: duration({ minMs: 200, maxMs: 3_600_000 }).default(2_000),
      publishEvery: duration({ minMs: 200, maxMs: 3_600_000 }).default(5_000),
      maintainEvery: duration({ minMs: 1_000, maxMs: 86_400_000 }).default(60_000),
      /** A day is final once this much time has passed since it ended. */
      closeAfter: duration({ minMs: 0, maxMs: 90 * 86_400_000 }).default(2 * 86_400_000),
      /** Published messages stay in the warehouse this long; the lake keeps them. */
      keepMessages: duration({ minMs: 60_000, maxMs: 3_650 * 86_400_000 }).default(2 * 86_400_000),
      /** Old generations of the lake stay this long. */
      keepGenerations: duration({ minMs: 60_000, maxMs: 365 * 86_400_000 }).default(86_400_000),
      warehouseMemoryMegabytes: z.number().int().min(128).max(1_048_576).default(512),
      threads: z.number().int().min(1).max(256).default(2),
    })
    .prefault({}),
  access: z
    .strictObject({
      /** A JWKS file with the signing keys; made on first start where none is named. */
      jwksFile: z.string().min(1).optional(),
      issuer: z.string().min(1).default('wattline'),
      tokenLifetime: duration({ minMs: 60_000, maxMs: 3_650 * 86_400_000 }).default(90 * 86_400_000),
    })
    .prefault({}),
  workgroups: z
    .array(workgroupSchema)
    .default([])
    // They name files, and some file systems do not tell upper case from lower.
    .superRefine((workgroups, context) => refuseTwice(workgroups, context, 'id', ({ id }) => usedTwice(id))),
  /** Reports that are written to files by a schedule. */
  exports: exportsSchema,
});

// Whatever else is wrong, so that every problem is reported at once.
const when = ({ value }: { value: unknown }) => isSettings(value);

export const configSchema = settingsSchema
  .refine(({ stream, queue }) => stream?.log !== 'redis' || stream.redisUrl || queue?.redisUrl, {
    path: ['stream', 'redisUrl'],
    error: 'is needed where the log is redis, such as "redis://127.0.0.1:6379"; that of the queue counts too',
    when,
  })
  .superRefine(refuseWrongExports, { when });

export type Config = z.output<typeof configSchema>;
export type ConfigInput = z.input<typeof configSchema>;
export type WorkgroupConfig = Config['workgroups'][number];

/** Values of the environment that stand above the file: `WATTLINE_` and the path, in capitals. */
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
 * Reads the configuration: the file, then the environment above it, then the defaults.
 * Text such as `${NAME}` is replaced by that variable, and `{ file: path }` by the trimmed content of a file, so that no
 * secret has to stand in the configuration. Relative paths start at the configuration's own folder.
 * @param path the file; where it is not given, `wattline.yaml` in `cwd` if there is one
 * @throws InputError with every problem at once, each with its path
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
  if (isSettings(resolved)) applyEnvironment(resolved, options.environment);
  const parsed = configSchema.safeParse(resolved, inWords);
  if (!parsed.success) {
    // What could not be resolved is not reported again for the empty text that stands in for it.
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

/** The problems of a zod error as `path: message`, of what was parsed with `inWords`. */
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
  // What follows a first error of the syntax is a guess at what was meant.
  const [error] = document.errors;
  if (error) {
    problems.push({ path: '', message: `is not YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}` });
    return {};
  }
  try {
    const settings: unknown = document.toJS({ maxAliasCount: 100 });
    if (!isCircular(settings)) return settings;
    problems.push({ path: '', message: 'an alias stands within what it stands for' });
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
    // A section that is something else is reported by the schema.
    if (isSettings(section)) section[path.at(-1)!] = value;
  }
}
