import { z } from 'zod';
import { SOCKET_PATH } from '../contract/socket-events.ts';
import { limits } from '../contract/wire-limits.ts';
import { readerNames } from '../lib/private-files.ts';
import { exportsSchema, refuseWrongExports } from './export-settings.ts';
import { limitsSchema } from './limit-settings.ts';
import { deviceTimeout, duration, port, redisUrl, sentinels, socketPath } from './setting-types.ts';
import { refuseTwice, usedTwice, workgroupSchema } from './workgroup-settings.ts';

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
  limits: limitsSchema,
  /** Reports that are written to files by a schedule. */
  exports: exportsSchema,
});

// Whatever else is wrong, so that every problem is reported at once.
const when = ({ value }: { value: unknown }) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
