import { z } from 'zod';
import { deviceIdSchema, nameSchema } from '../contract/messages.ts';
import { isLocalDate, type LocalDate } from '../lib/time.ts';
import { absentSchema } from '../roles/role.ts';
import { type CsvItems, metersOfCsv, sitesOfCsv } from './meter-files.ts';
import { refuseTwice } from './refuse-twice.ts';

export const meterDirections = ['production', 'consumption', 'import', 'export'] as const;

/**
 * The scenarios of budgets with a fixed spelling. A budget can have others. If no scenario is requested, each
 * meter has on each day the first of these for which it has a budget, otherwise the first other by name.
 */
export const budgetScenarios = ['contract', 'P50', 'P90', 'reforecast'] as const;

export const meterCodeSchema = z
  .string()
  .regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 of the characters A-Z a-z 0-9 _ . : -');
const multiplier = z.number().positive().default(1);
const dateSchema = z.string().refine(isLocalDate, 'must be a day that exists, such as "2026-05-01"');

export const meterSchema = z
  .strictObject({
    code: meterCodeSchema,
    name: nameSchema.optional(),
    /** The direction of the counted energy. */
    direction: z.enum(meterDirections, { error: `must be one of ${meterDirections.join(', ')}` }).optional(),
    /** The device that measures its readings. Without a device they are uploaded. */
    device: deviceIdSchema.optional(),
    /** One source of the device, instead of the whole device. */
    source: nameSchema.optional(),
    /** The values are multiplied by this, such as the ratio of a current transformer. */
    multiplier,
  })
  .refine(({ device, source }) => device !== undefined || source === undefined, {
    path: ['source'],
    error: 'needs a device: name it, or remove source',
  })
  .refine((meter) => meter.device === undefined || meter.multiplier === 1, {
    path: ['multiplier'],
    error: 'is only for uploaded values; for a device use the multiplier of its energy stream',
  });

/** A period of validity in local days, both included. */
const validity = {
  sign: z.union([z.literal(1), z.literal(-1)], { error: 'must be 1 or -1' }).default(1),
  from: dateSchema.optional(),
  to: dateSchema.optional(),
};

const siteSchema = z
  .strictObject({
    name: nameSchema,
    meters: z.array(z.strictObject({ code: meterCodeSchema, ...validity })).default([]),
    devices: z
      .array(z.strictObject({ id: deviceIdSchema, source: nameSchema.optional(), ...validity }))
      .default([]),
    /** Roles that are known to be absent, so they are 0 and not unknown. */
    absent: absentSchema,
  })
  .superRefine((site, context) => {
    for (const name of ['meters', 'devices'] as const) {
      refuseTimes(site[name], (index, message) =>
        context.addIssue({ code: 'custom', path: [name, index, message.at], message: message.text }),
      );
    }
  });

export type MeterConfig = z.output<typeof meterSchema>;
export type SiteConfig = z.output<typeof siteSchema>;

export const metersSchema = listOrCsv(
  metersOfCsv,
  z
    .array(meterSchema)
    .default([])
    .superRefine((meters, context) => refuseTwice(meters, context, 'code', ({ code }) => code)),
);
export const sitesSchema = listOrCsv(
  sitesOfCsv,
  z
    .array(siteSchema)
    .default([])
    .superRefine((sites, context) => refuseTwice(sites, context, 'name', ({ name }) => name)),
);

/** A list, or the text of a CSV file that `{ file: meters.csv }` names. */
function listOrCsv<Schema extends z.ZodType>(itemsOf: (text: string) => CsvItems, schema: Schema) {
  return z.preprocess((value: unknown, context) => {
    if (typeof value !== 'string') return value;
    const read = itemsOf(value);
    if (read.kind === 'items') return read.items;
    context.addIssue({ code: 'custom', message: read.message });
    return z.NEVER;
  }, schema);
}

/** Roles that no site has, and so the workgroup does not have. */
export function absentInAll(sites: ReadonlyArray<Pick<SiteConfig, 'absent'>>): SiteConfig['absent'] {
  const [first, ...others] = sites;
  return first?.absent.filter((role) => others.every(({ absent }) => absent.includes(role))) ?? [];
}

/** Checks that the meters of sites exist. */
export function refuseUnknownMeters(
  { meters, sites }: { meters: readonly MeterConfig[]; sites: readonly SiteConfig[] },
  context: z.RefinementCtx,
): void {
  const codes = new Set(meters.map(({ code }) => code));
  for (const [index, site] of sites.entries())
    for (const [meterIndex, { code }] of site.meters.entries())
      if (!codes.has(code))
        context.addIssue({
          code: 'custom',
          path: ['sites', index, 'meters', meterIndex, 'code'],
          message: `no meter has the code "${code}"; add it to meters`,
        });
}

interface Member {
  code?: string;
  id?: string;
  source?: string | undefined;
  from?: LocalDate | undefined;
  to?: LocalDate | undefined;
}

/** A member must count once a day, so its periods of validity must not overlap. */
function refuseTimes(
  members: readonly Member[],
  refuse: (index: number, problem: { at: string; text: string }) => void,
): void {
  for (const [index, member] of members.entries()) {
    const { from = '', to = '9999' } = member;
    if (from > to) refuse(index, { at: 'to', text: `is before from (${from})` });
    const twin = members
      .slice(0, index)
      .find((other) => isSame(other, member) && (other.from ?? '') <= to && from <= (other.to ?? '9999'));
    if (twin) {
      const text = `"${member.code ?? member.id}" is already a member at that time; end one (to) before the other begins (from)`;
      refuse(index, { at: member.code === undefined ? 'id' : 'code', text });
    }
  }
}

/** A whole device and one of its sources would count the same energy. */
function isSame(member: Member, other: Member): boolean {
  if (member.code !== other.code || member.id !== other.id) return false;
  return member.source === undefined || other.source === undefined || member.source === other.source;
}
