import { z } from 'zod';
import { deviceIdSchema } from './contract/messages.ts';
import { nextCronInstant, parseCron } from './cron.ts';
import { isTimeZone } from './time.ts';

/** What can be exported. */
export const exportReports = ['daily_energy', 'interval_energy', 'device_daily_energy'] as const;
/** Which days a run holds, seen from the day on which it is due. */
export const exportRanges = [
  'yesterday',
  'last_7_days',
  'last_week',
  'last_month',
  'month_to_date',
  'last_year',
  'year_to_date',
] as const;
export const exportFormats = ['csv', 'parquet', 'xlsx', 'json'] as const;

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' });

const s3Schema = z.strictObject({
  /** Of any S3-compatible storage; the bucket is part of the path. */
  endpoint: httpUrl.refine((text) => URL.canParse(text) && new URL(text).search === '', {
    error: 'must be the address of the storage alone, such as "https://s3.eu-west-1.amazonaws.com"',
  }),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{1,62}$/i, 'must be the name of a bucket, such as "energy-exports"'),
  /** In front of each file's name. */
  prefix: z
    .string()
    .regex(/^[\w!.*'()/ -]*$/, "may have letters, digits and _ - . / ! * ' ( )")
    .default(''),
  region: z.string().min(1).default('us-east-1'),
  accessKeyId: z.string().min(1, 'must not be empty'),
  secretAccessKey: z.string().min(1, 'must not be empty'),
});

/** Those that say how the body is read, and what a retry is known by. */
const OWN_HEADERS = /^(content-.*|transfer-encoding|host|idempotency-key|wattline-.*)$/i;

const webhookSchema = z.strictObject({
  url: httpUrl,
  headers: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is no name of a header')
        .refine((name) => !OWN_HEADERS.test(name), { error: 'is a header that Wattline sets itself' }),
      z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of text'),
    )
    .default({}),
  /** With one, each request is signed: an HMAC of its body. */
  secret: z.string().min(8, 'must have 8 characters at least').optional(),
});

const destinationSchema = z
  .strictObject({
    /** Relative paths start at the folder of the configuration. */
    folder: z.string().min(1).optional(),
    s3: s3Schema.optional(),
    webhook: webhookSchema.optional(),
  })
  .superRefine((destination, context) => {
    if (Object.values(destination).filter(Boolean).length !== 1)
      context.addIssue({ code: 'custom', message: 'must be one of folder, s3 and webhook' });
  });

const scheduleSchema = z.string().superRefine((text, context) => {
  const pattern = parseCron(text);
  if (typeof pattern === 'string') context.addIssue({ code: 'custom', message: pattern });
  else if (nextCronInstant(pattern, 'Etc/UTC', 0) === undefined)
    context.addIssue({ code: 'custom', message: 'never comes: there is no such day in any year' });
});

/** A report that is written to a file when it is due, and where the file goes. */
const exportSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must have small letters, digits, - and _ alone, 64 at most'),
    workgroup: z.string(),
    report: z.enum(exportReports, { error: `must be one of ${exportReports.join(', ')}` }),
    range: z.enum(exportRanges, { error: `must be one of ${exportRanges.join(', ')}` }),
    groupBy: z.literal('source', { error: 'must be "source", or be left out' }).optional(),
    /** The only devices; without it, all. */
    devices: z.array(deviceIdSchema).min(1, 'must name a device, or be left out').optional(),
    format: z.enum(exportFormats, { error: `must be one of ${exportFormats.join(', ')}` }),
    /** When it is due, as a cron pattern; without it, only when it is asked for. */
    schedule: scheduleSchema.optional(),
    /** Of the schedule; that of the workgroup by default. Days are always those of the workgroup. */
    timezone: z
      .string()
      .refine(isTimeZone, { error: 'is not a time zone of the IANA database, such as "Europe/Paris"' })
      .optional(),
    destination: destinationSchema,
  })
  .superRefine(({ report, groupBy, schedule, timezone }, context) => {
    if (report === 'device_daily_energy' && groupBy)
      context.addIssue({
        code: 'custom',
        path: ['groupBy'],
        message: 'has no meaning for device_daily_energy; remove it, or export daily_energy',
      });
    if (timezone && !schedule)
      context.addIssue({
        code: 'custom',
        path: ['timezone'],
        message: 'is that of the schedule, and there is none',
      });
  });

export const exportsSchema = z.array(exportSchema).default([]);
export type ExportConfig = z.output<typeof exportSchema>;
export type ExportReport = ExportConfig['report'];

const named = z.object({ id: z.string() });
const owned = z.object({ workgroup: z.string() });

/** An export is known by its id, and is of a workgroup that there is. What is wrong otherwise is reported beside this. */
export function refuseWrongExports(
  { exports, workgroups }: { exports?: unknown; workgroups?: unknown },
  context: z.RefinementCtx,
): void {
  const listOf = (value: unknown) => (Array.isArray(value) ? value : []);
  const known = listOf(workgroups).flatMap((one) => named.safeParse(one).data?.id ?? []);
  const seen = new Set<string>();
  for (const [index, one] of listOf(exports).entries()) {
    const refuse = (at: string, message: string) =>
      context.addIssue({ code: 'custom', path: ['exports', index, at], message });
    const id = named.safeParse(one).data?.id;
    if (id !== undefined && seen.has(id)) refuse('id', `"${id}" is used twice`);
    if (id !== undefined) seen.add(id);
    const workgroup = owned.safeParse(one).data?.workgroup;
    if (workgroup !== undefined && !known.includes(workgroup))
      refuse('workgroup', `"${workgroup}" is not configured; there are ${known.join(', ') || 'none'}`);
  }
}
