import { z } from 'zod';
import { deviceIdSchema, nameSchema } from '../contract/messages.ts';
import { parseCron } from '../lib/cron.ts';
import { isTimeZone } from '../lib/time.ts';
import { mailRecipients } from './mail-settings.ts';
import { meterCodeSchema } from './meters.ts';
import { accessKeyText, bucketName, keyPrefix, regionName, storeUrl } from './s3-settings.ts';
import { plainServerUrl } from './server-url.ts';
import { webhookSchema } from './webhook-settings.ts';

/** The reports that can be exported. */
export const exportReports = [
  'daily_energy',
  'interval_energy',
  'device_daily_energy',
  'meter_data',
  'budget_data',
  'reconciliation',
  'variance',
  'balance',
] as const;
/** The days of a run, relative to the day on which it is due. */
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

const s3Schema = z.strictObject({
  /** Any S3-compatible storage. The bucket is part of the path. */
  endpoint: storeUrl,
  bucket: bucketName,
  /** Comes before the name of each file. */
  prefix: keyPrefix.default(''),
  region: regionName.default('us-east-1'),
  accessKeyId: accessKeyText,
  secretAccessKey: accessKeyText,
});

const emailSchema = z.strictObject({
  to: mailRecipients,
  /** The file comes with the mail. */
  attach: z.boolean().default(true),
});

const homeAssistantSchema = z.strictObject({
  /** The address of its page, such as `http://homeassistant.local:8123`. */
  url: plainServerUrl('the page of Home Assistant, such as "http://homeassistant.local:8123"'),
  /** A long-lived access token of an administrator. */
  token: z.string().regex(/^[\x21-\x7e]+$/, 'must be a long-lived access token'),
});

/** The settings of each kind of destination. */
const destinationSettings = {
  /** Relative paths start at the folder of the configuration. */
  folder: z.string().min(1).optional(),
  s3: s3Schema.optional(),
  webhook: webhookSchema.optional(),
  /** A mail about the last day of the period. It needs `mail`. */
  email: emailSchema.optional(),
  /** Daily energy as external statistics. */
  homeAssistant: homeAssistantSchema.optional(),
};

type DestinationKind = keyof typeof destinationSettings;

export const destinationKinds = Object.keys(destinationSettings) as DestinationKind[];

const destinationSchema = z.strictObject(destinationSettings).superRefine((destination, context) => {
  if (Object.values(destination).filter(Boolean).length !== 1)
    context.addIssue({
      code: 'custom',
      message: `must be one of ${destinationKinds.slice(0, -1).join(', ')} and ${destinationKinds.at(-1)}`,
    });
});

/** The kind of a destination, and its settings. */
export type DestinationOfKind = {
  [Kind in DestinationKind]: { kind: Kind; to: NonNullable<z.output<(typeof destinationSettings)[Kind]>> };
}[DestinationKind];

export function destinationOf({ destination }: Pick<ExportConfig, 'destination'>): DestinationOfKind {
  const kind = destinationKinds.find((one) => destination[one] !== undefined)!;
  return { kind, to: destination[kind] } as DestinationOfKind;
}

const scheduleSchema = z.string().superRefine((text, context) => {
  const pattern = parseCron(text);
  if (typeof pattern === 'string') context.addIssue({ code: 'custom', message: pattern });
});

/** A report that is written to a file by a schedule, and its destination. */
const exportSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must have only lower-case letters, digits, - and _, at most 64'),
    workgroup: z.string(),
    report: z.enum(exportReports, { error: `must be one of ${exportReports.join(', ')}` }),
    range: z.enum(exportRanges, { error: `must be one of ${exportRanges.join(', ')}` }),
    groupBy: z.literal('source', { error: 'must be "source", or be left out' }).optional(),
    /** Only these devices. Default: all. */
    devices: z.array(deviceIdSchema).min(1, 'must name a device, or be left out').optional(),
    /** Only the meters with these codes. Default: all. */
    meters: z.array(meterCodeSchema).min(1, 'must name a meter, or be left out').optional(),
    /** The site of the report. Without it a balance is of the workgroup. */
    site: nameSchema.optional(),
    /** The rows of a balance. Default: day. */
    resolution: z.enum(['interval', 'day'], { error: 'must be interval or day' }).optional(),
    /** The scenario of the budget. Default: the only one, else `contract`, else `P50`. */
    scenario: z.string().min(1, 'must name a scenario, or be left out').optional(),
    format: z.enum(exportFormats, { error: `must be one of ${exportFormats.join(', ')}` }),
    /** A cron pattern. Without it the export runs only by hand. */
    schedule: scheduleSchema.optional(),
    /** The zone of the schedule. Default: the workgroup's zone. Days are always in the workgroup's zone. */
    timezone: z
      .string()
      .refine(isTimeZone, { error: 'is not a time zone of the IANA database, such as "Europe/Paris"' })
      .optional(),
    destination: destinationSchema,
  })
  .superRefine((settings, context) => {
    const refuse = (at: string, message: string) => context.addIssue({ code: 'custom', path: [at], message });
    for (const [setting, reports] of Object.entries(settingsOfReports)) {
      if (
        settings[setting as keyof typeof settingsOfReports] !== undefined &&
        !reports.includes(settings.report)
      )
        refuse(setting, `has no effect for ${settings.report}; use it with ${reports.join(', ')}`);
    }
    if (
      settingsOfReports.site.includes(settings.report) &&
      settings.report !== 'balance' &&
      settings.site === undefined
    )
      refuse('site', `must name the site of ${settings.report}`);
    if (settings.destination.homeAssistant && settings.report !== 'daily_energy')
      refuse('report', 'must be daily_energy for Home Assistant');
    if (settings.timezone && !settings.schedule)
      refuse('timezone', 'is the zone of the schedule, which is missing');
  });

/** Settings that only some reports have. */
const settingsOfReports: Readonly<
  Record<
    'groupBy' | 'devices' | 'meters' | 'site' | 'scenario' | 'resolution',
    ReadonlyArray<(typeof exportReports)[number]>
  >
> = {
  groupBy: ['daily_energy', 'interval_energy'],
  devices: ['daily_energy', 'interval_energy', 'device_daily_energy'],
  meters: ['meter_data', 'budget_data'],
  site: ['reconciliation', 'variance', 'balance'],
  scenario: ['budget_data', 'variance'],
  resolution: ['balance'],
};

export const exportsSchema = z.array(exportSchema).default([]);
export type ExportConfig = z.output<typeof exportSchema>;
export type ExportReport = ExportConfig['report'];

const named = z.object({ id: z.string() });
const questionSchema = z.object({
  workgroup: z.string(),
  report: z.string().optional().catch(undefined),
  meters: z.array(z.string()).catch([]),
  site: z.string().optional().catch(undefined),
});
const members = z.array(z.unknown()).catch([]);
const sideSchema = z.object({ name: z.string(), meters: members, devices: members });
const workgroupSchema = z.object({
  id: z.string(),
  meters: z.array(z.object({ code: z.string() })).catch([]),
  sites: z.array(sideSchema).catch([]),
  roles: members,
});

/**
 * Checks that ids differ, and that workgroups, meters and sites exist.
 */
export function refuseWrongExports(
  { exports, workgroups }: { exports?: unknown; workgroups?: unknown },
  context: z.RefinementCtx,
): void {
  const listOf = (value: unknown) => (Array.isArray(value) ? value : []);
  const known = listOf(workgroups).flatMap((one) => workgroupSchema.safeParse(one).data ?? []);
  const seen = new Set<string>();
  for (const [index, settings] of listOf(exports).entries()) {
    const refuse = (at: Array<string | number>, message: string) =>
      context.addIssue({ code: 'custom', path: ['exports', index, ...at], message });
    const id = named.safeParse(settings).data?.id;
    if (id !== undefined && seen.has(id)) refuse(['id'], `"${id}" is used twice`);
    if (id !== undefined) seen.add(id);
    const question = questionSchema.safeParse(settings).data;
    if (!question) continue;
    const workgroup = known.find((other) => other.id === question.workgroup);
    if (workgroup) refuseUnknown(question, workgroup, refuse);
    else
      refuse(
        ['workgroup'],
        `"${question.workgroup}" is not configured; configured are ${namesOf(known.map((other) => other.id))}`,
      );
  }
}

/** Checks that a mail server is configured if an export sends mails. */
export function refuseMailsWithoutServer(
  { exports, mail }: { exports?: unknown; mail?: unknown },
  context: z.RefinementCtx,
): void {
  if (mail !== undefined) return;
  for (const [index, one] of (Array.isArray(exports) ? exports : []).entries())
    if (one?.destination?.email !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['exports', index, 'destination', 'email'],
        message: 'needs the mail server: configure mail',
      });
}

function refuseUnknown(
  { report, meters, site: wanted }: z.output<typeof questionSchema>,
  { id, meters: known, sites, roles }: z.output<typeof workgroupSchema>,
  refuse: (at: Array<string | number>, message: string) => void,
): void {
  const codes = known.map(({ code }) => code);
  if ((report === 'meter_data' || report === 'budget_data') && codes.length === 0)
    refuse(['report'], `needs meters, and workgroup ${id} has none`);
  if (report === 'balance' && roles.length === 0)
    refuse(['report'], `needs sources with roles, and workgroup ${id} has none`);
  for (const [meterIndex, code] of meters.entries()) {
    if (!codes.includes(code))
      refuse(
        ['meters', meterIndex],
        `no meter of workgroup ${id} has the code "${code}"; its codes are ${namesOf(codes)}`,
      );
  }
  if (wanted === undefined) return;
  const site = sites.find(({ name }) => name === wanted);
  if (!site) {
    refuse(
      ['site'],
      `workgroup ${id} has no site "${wanted}"; its sites are ${namesOf(sites.map(({ name }) => name))}`,
    );
    return;
  }
  const lacks = [
    ...(report !== 'balance' && site.meters.length === 0 ? ['meters'] : []),
    ...((report === 'reconciliation' || report === 'balance') && site.devices.length === 0
      ? ['devices']
      : []),
  ];
  if (lacks.length > 0)
    refuse(
      ['site'],
      `"${wanted}" has no ${lacks.join(' and no ')}, so there is nothing to ${report === 'balance' ? 'balance' : 'compare'}`,
    );
}

function namesOf(names: readonly string[]): string {
  const list = names.slice(0, NAMES_SHOWN_MAX).join(', ');
  const more = names.length - NAMES_SHOWN_MAX;
  return more > 0 ? `${list} and ${more} more` : list || 'none';
}

const NAMES_SHOWN_MAX = 20;
