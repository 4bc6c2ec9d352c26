import { z } from 'zod';
import { SOCKET_PATH } from '../contract/socket-events.ts';
import { limits } from '../contract/wire-limits.ts';
import { isObject } from '../lib/is-object.ts';
import { readerNames } from '../lib/private-files.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { alertsSchema, refuseAlertsWithoutServer } from './alert-settings.ts';
import { exportsSchema, refuseMailsWithoutServer, refuseWrongExports } from './export-settings.ts';
import { limitsSchema } from './limit-settings.ts';
import { mailSchema } from './mail-settings.ts';
import { refuseLateCommits } from './refuse-late-commits.ts';
import { refuseTwice } from './refuse-twice.ts';
import { serverUrl } from './server-url.ts';
import {
  deviceTimeout,
  duration,
  port,
  redisUrl,
  sentinels,
  socketPath,
  webOrigin,
} from './setting-types.ts';
import { backupSchema, storageSchema } from './storage-settings.ts';
import { workerSchema } from './worker-settings.ts';
import { workgroupSchema } from './workgroup-settings.ts';

const settingsSchema = z.strictObject({
  /** Everything that Wattline writes is below this folder. */
  dataDir: z.string().min(1).default('./data'),
  /** Who can read files below `dataDir`. Keys and tokens are always private. */
  dataReaders: z.enum(readerNames).default('owner'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  http: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** The port of `up`. */
      port: port.default(8080),
      /** Ports of roles that run alone. */
      streamPort: port.default(8080),
      reportPort: port.default(8081),
      /** Where people reach the web page, for links in mails. */
      publicUrl: serverUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
      /** Origins of web pages. Their scripts may call the API. */
      corsOrigins: z.array(webOrigin).max(100).default([]),
    })
    .prefault({}),
  /**
   * A separate port for metrics, without a token. Without it, metrics need a token on the port of the API.
   */
  metrics: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      port: port.optional(),
    })
    .prefault({}),
  stream: z
    .strictObject({
      log: z.enum(['lmdb', 'memory', 'redis']).default('lmdb'),
      /** For `log: redis`. Default: `queue.redisUrl`. */
      redisUrl: redisUrl.optional(),
      /** Sentinels that know the master. The host of `redisUrl` is then its name, such as "mymaster". */
      redisSentinels: sentinels.optional(),
      /** A message is acknowledged after this many replicas of Redis have it. */
      redisReplicasMin: z.number().int().min(0).max(10).default(0),
      retention: duration({ minMs: SECOND_MS, maxMs: 30 * DAY_MS }).default(limits.retentionMs),
      /** Memory for the newest messages of each workgroup. */
      cacheMegabytes: z.number().int().min(1).max(65_536).default(4),
      /** Devices that are silent for this long are announced as offline. */
      deviceTimeout: deviceTimeout.default('off'),
      /** The path of socket.io. */
      socketPath: socketPath
        .refine((path) => !/^\/(api|docs|health|ready|metrics|openapi)/.test(path), {
          error: 'is a path of the service; choose another, such as "/socket.io-client"',
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
      error: 'is needed with backend: redis, such as "redis://127.0.0.1:6379"',
    })
    .prefault({}),
  worker: workerSchema,
  pipeline: z
    .strictObject({
      pollEvery: duration({ minMs: 200, maxMs: MINUTE_MS }).default(SECOND_MS),
      /** Acts only if it is longer than `publishEvery`. */
      rollupEvery: duration({ minMs: 200, maxMs: HOUR_MS }).default(2 * SECOND_MS),
      publishEvery: duration({ minMs: 200, maxMs: HOUR_MS }).default(5 * SECOND_MS),
      /**
       * The folder `current` of a lake and the views for people follow publications at most once in this
       * time.
       */
      currentEvery: duration({ minMs: 200, maxMs: DAY_MS }).default(MINUTE_MS),
      maintainEvery: duration({ minMs: SECOND_MS, maxMs: DAY_MS }).default(MINUTE_MS),
      /** A day is final this long after its end. */
      closeAfter: duration({ minMs: 0, maxMs: 90 * DAY_MS }).default(2 * DAY_MS),
      /** Published messages stay in the warehouse for this long. The lake keeps them. */
      keepMessages: duration({ minMs: MINUTE_MS, maxMs: 3_650 * DAY_MS }).default(2 * DAY_MS),
      /**
       * A snapshot of a changed warehouse is added to the lake this often. It must be well below the
       * retention of the stream.
       */
      snapshotEvery: duration({ minMs: MINUTE_MS, maxMs: DAY_MS }).default(20 * MINUTE_MS),
      /** Old generations of the lake stay for this long. */
      keepGenerations: duration({ minMs: MINUTE_MS, maxMs: 365 * DAY_MS }).default(DAY_MS),
      /** An idle workgroup closes its warehouse after this time. News, a job or a request opens it again. */
      hibernateAfter: duration({ minMs: SECOND_MS, maxMs: DAY_MS }).default(10 * MINUTE_MS),
      /** The maximum number of warehouses that a process has open, if workgroups can hibernate. */
      openWorkgroupsMax: z.number().int().min(1).max(100_000).default(64),
      warehouseMemoryMegabytes: z.number().int().min(128).max(1_048_576).default(512),
      /** Of each open warehouse, for much work. */
      warehouseThreads: z.number().int().min(1).max(256).default(2),
    })
    .prefault({}),
  access: z
    .strictObject({
      /** A JWKS file with the signing keys. Default: created at the first start. */
      jwksFile: z.string().min(1).optional(),
      issuer: z.string().min(1).default('wattline'),
      tokenLifetime: duration({ minMs: MINUTE_MS, maxMs: 3_650 * DAY_MS }).default(90 * DAY_MS),
    })
    .prefault({}),
  workgroups: z
    .array(workgroupSchema)
    .default([])
    // Workgroups name files, and some file systems ignore case.
    .superRefine((workgroups, context) =>
      refuseTwice(workgroups, context, 'id', ({ id }) => id.toLowerCase()),
    ),
  /**
   * A folder with a file for each workgroup. Default: `workgroups.d` next to the configuration, if it exists.
   */
  workgroupsDir: z.string().min(1).optional(),
  limits: limitsSchema,
  storage: storageSchema,
  backup: backupSchema,
  /** The server that takes mails. Without it no mail is sent. */
  mail: mailSchema.optional(),
  /** Reports that are written to files by a schedule. */
  exports: exportsSchema,
  /** Messages about problems, for people without a monitoring system. */
  alerts: alertsSchema,
});

// Also runs if there are other problems, so that all problems are reported at once.
const when = ({ value }: { value: unknown }) => isObject(value);

/** The main file. Its exports are checked together with the workgroups of all files. */
export const mainSchema = settingsSchema
  .refine(({ stream, queue }) => stream.log !== 'redis' || stream.redisUrl || queue.redisUrl, {
    path: ['stream', 'redisUrl'],
    error: 'is needed with log: redis, such as "redis://127.0.0.1:6379"; queue.redisUrl is used too',
    when,
  })
  .superRefine(refuseLateCommits, { when })
  .superRefine(refuseMailsWithoutServer, { when })
  .superRefine(refuseAlertsWithoutServer, { when });

/** Checks that the workgroups, meters and sites of exports exist. */
export const exportsCheck = z
  .custom<{ exports?: unknown; workgroups?: unknown }>()
  .superRefine(refuseWrongExports);

export const configSchema = mainSchema.superRefine(refuseWrongExports, { when });

export type Config = z.output<typeof configSchema>;
export type ConfigInput = z.input<typeof configSchema>;
export type WorkgroupConfig = Config['workgroups'][number];
