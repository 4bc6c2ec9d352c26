import { z } from 'zod';
import { refuseTwice } from '../config/refuse-twice.ts';
import { nameSchema } from '../contract/messages.ts';
import { isLocalDate } from '../lib/time.ts';

/** The meaning of the energy of a source. A device with several roles is reported by the first of them. */
export const sourceRoles = [
  'production',
  'consumption',
  'grid_import',
  'grid_export',
  'battery_discharge',
  'battery_charge',
  'other',
] as const;
export type SourceRole = (typeof sourceRoles)[number];

/** The roles of an energy balance: all but `other`. */
export const balanceRoles = sourceRoles.filter((role) => role !== 'other');

/** The direction of a role: into the balanced unit (1) or out of it (-1). `other` has none. */
export const sideOfRole: Readonly<Record<SourceRole, 1 | -1 | 0>> = {
  production: 1,
  consumption: -1,
  grid_import: 1,
  grid_export: -1,
  battery_discharge: 1,
  battery_charge: -1,
  other: 0,
};

export const roleSchema = z.enum(sourceRoles, { error: `must be one of ${sourceRoles.join(', ')}` });
const dateSchema = z.string().refine(isLocalDate, 'must be a day that exists, such as "2026-04-01"');

/** The value of `within` for a source that is contained in the computed part of a site. */
export const WITHIN_SITE = 'site';

/** The configured role of a source, or of several sources by a pattern. */
export const roleEntrySchema = z
  .strictObject({
    /** Id or name of the device. Default: all devices. */
    device: z.string().min(1).optional(),
    /**
     * Name of the source, with `*` for any text and `?` for any character. Default: all sources of the
     * device.
     */
    source: nameSchema.optional(),
    role: roleSchema,
    /** The role of negative intervals of a register that may fall. */
    negativeRole: roleSchema.optional(),
    /**
     * The source that also measures this one, as `<device>.<source>`, or `site` for the computed part of a
     * site.
     */
    within: z.string().min(1).optional(),
    /** First and last local day, both included. Default: always. */
    from: dateSchema.optional(),
    to: dateSchema.optional(),
  })
  .superRefine((entry, context) => {
    const refuse = (at: string, message: string) => context.addIssue({ code: 'custom', path: [at], message });
    const { device, source, role, negativeRole, within, from, to } = entry;
    if (device === undefined && source === undefined)
      refuse('source', 'is missing: name a source, a pattern such as "grid_*", or a device');
    if (from !== undefined && to !== undefined && from > to) refuse('to', `is before from (${from})`);
    if (negativeRole !== undefined) {
      if (role === 'other') refuse('negativeRole', 'is not possible with role other; remove it');
      else if (negativeRole !== 'other' && sideOfRole[role] * sideOfRole[negativeRole] !== -1)
        refuse(
          'negativeRole',
          `must have the opposite direction of ${role}, such as ${oppositeRole[role]} or other`,
        );
    }
    if (within !== undefined && role === 'other')
      refuse('within', 'has no effect with role other, which is never added up; remove it');
    if (within !== undefined && within !== WITHIN_SITE && !within.includes('.'))
      refuse('within', 'must be "site", or a device, a dot and a source, such as "garage.main"');
  });
export type RoleEntry = z.output<typeof roleEntrySchema>;

const oppositeRole: Readonly<Record<Exclude<SourceRole, 'other'>, SourceRole>> = {
  production: 'consumption',
  consumption: 'production',
  grid_import: 'grid_export',
  grid_export: 'grid_import',
  battery_discharge: 'battery_charge',
  battery_charge: 'battery_discharge',
};

/** Peak power of the production of a device (kWp). Each is valid from a local day until the next. */
export const peakPowerSchema = z
  .array(
    z.strictObject({
      kWp: z.number().positive('must be more than 0'),
      from: dateSchema.optional(),
    }),
  )
  .min(1, 'must have an entry, such as { kWp: 9.6, from: 2026-01-01 }, or be left out')
  .superRefine((entries, context) =>
    refuseTwice(
      entries,
      context,
      'from',
      ({ from = '' }) => from,
      ({ from }) =>
        from === undefined ? 'is missing: only one entry can have no from' : `${from} is used twice`,
    ),
  );

/** Roles that a site certainly does not have. */
export const absentSchema = z
  .array(z.enum(balanceRoles, { error: `must be one of ${balanceRoles.join(', ')}` }))
  .default([]);
