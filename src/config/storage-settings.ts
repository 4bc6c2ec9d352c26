import { z } from 'zod';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { accessKeyText, bucketName, keyPrefix, regionName, storeUrl } from './s3-settings.ts';
import { duration } from './setting-types.ts';

/** A bucket of S3 or of a store with the same protocol. */
export const storageS3Schema = z
  .strictObject({
    /** Default: AWS_ENDPOINT_URL_S3, else the store of AWS in `region`. */
    endpoint: storeUrl.optional(),
    region: regionName.default('us-east-1'),
    bucket: bucketName,
    /** The folder of all objects in the bucket. */
    prefix: keyPrefix.default(''),
    /**
     * `path`: https://host/bucket/key. `virtual-host`: https://bucket.host/key. Default: `path` if there is
     * an endpoint.
     */
    addressing: z.enum(['path', 'virtual-host']).optional(),
    accessKeyId: accessKeyText,
    secretAccessKey: accessKeyText,
    /** For temporary keys. */
    sessionToken: accessKeyText.optional(),
  })
  .transform(({ endpoint, addressing, prefix, ...rest }) => ({
    ...rest,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
    endpoint: endpoint ?? `https://s3.${rest.region}.amazonaws.com`,
    addressing: addressing ?? (endpoint === undefined ? ('virtual-host' as const) : ('path' as const)),
  }));

export const storageSchema = z
  .strictObject({
    /**
     * The bucket that has the state of all workgroups. Any worker can then take a workgroup over. Default:
     * the data folder has it.
     */
    s3: storageS3Schema.optional(),
    /**
     * Changed data is committed to the bucket this often. At most a quarter of the retention of the stream.
     */
    commitEvery: duration({ minMs: SECOND_MS, maxMs: HOUR_MS }).default(MINUTE_MS),
    /** The maximum disk space for copies of files of the bucket that reports read. */
    cacheMegabytes: z.number().int().min(64).max(16_777_216).default(4_096),
    /** True if all workers use the same data folder, for example over a network file system. */
    shared: z.boolean().default(false),
  })
  .prefault({});

export const backupSchema = z
  .strictObject({
    /** The bucket for backups, if the command line names no place. */
    s3: storageS3Schema.optional(),
  })
  .prefault({});

/**
 * The variables of the tools of AWS. Each is used if the setting is missing. The first one that is set
 * counts.
 */
const variables: Readonly<Record<string, readonly string[]>> = {
  endpoint: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  region: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
};
const keyVariables: Readonly<Record<string, readonly string[]>> = {
  accessKeyId: ['AWS_ACCESS_KEY_ID'],
  secretAccessKey: ['AWS_SECRET_ACCESS_KEY'],
  sessionToken: ['AWS_SESSION_TOKEN'],
};

/**
 * Adds values of the standard variables of AWS that the settings of a bucket leave out. Keys are added
 * together or not at all, because a key of one source does not fit the secret of another.
 */
export function withAwsVariables(
  settings: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, unknown> {
  const hasKeys = Object.keys(keyVariables).some((name) => settings[name] !== undefined);
  const added = Object.entries({ ...variables, ...(hasKeys ? {} : keyVariables) }).flatMap(
    ([name, names]) => {
      const value = names.map((variable) => environment[variable]).find(Boolean);
      return value === undefined || settings[name] !== undefined ? [] : [[name, value] as const];
    },
  );
  return { ...settings, ...Object.fromEntries(added) };
}
