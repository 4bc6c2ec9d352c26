import { z } from 'zod';
import { isLocalDate, isTimeZone } from '../../lib/time.ts';
import { balanceRoles } from '../../roles/role.ts';

/* The format of a case of the energy balance. */

const wattHours = z.number().int('must be whole Wh').nullable();
const day = z.string().refine(isLocalDate, 'must be an existing day, such as "2026-06-01"');
const zone = z.string().refine(isTimeZone, 'is not a time zone of the IANA database, such as "Europe/Paris"');
const peak = z.array(z.looseObject({ kWp: z.number(), from: z.string().optional() }));

const sourceSchema = z.looseObject({
  device: z.string().min(1),
  source: z.string().min(1),
  role: z.string().nullish(),
  negativeRole: z.string().nullish(),
  within: z.string().nullish(),
  from: day.nullish(),
  to: day.nullish(),
  sign: z.union([z.literal(1), z.literal(-1)], { error: 'must be 1 or -1' }).default(1),
  wh: z.record(z.string(), wattHours).default({}),
  unlistedWh: wattHours.default(0),
  dailyWh: z.record(day, wattHours).default({}),
  silent: z.boolean().default(false),
  peakPower: peak.optional(),
  energyRole: z.string().optional(),
  totalSource: z.string().optional(),
});
const optionsSchema = z
  .looseObject({
    toleranceWh: z.number().min(0).default(20),
    tolerancePercent: z.number().min(0).default(5),
    startDate: day.optional(),
    endDate: day.optional(),
    absent: z.array(z.enum(balanceRoles)).optional(),
    zones: z.array(zone).default([]),
  })
  .prefault({});
const absent = z.array(z.enum(balanceRoles));
const device = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  energyRole: z.string().optional(),
  totalSource: z.string().optional(),
  sources: z.array(z.string()).optional(),
  peakPower: peak.optional(),
});
/** A list, or an object with the devices by name. */
const devices = z
  .union([z.array(device), z.record(z.string(), device)], { error: 'must be a list of devices' })
  .transform((value) =>
    Array.isArray(value) ? value : Object.entries(value).map(([name, rest]) => ({ ...rest, name })),
  )
  .default([]);

export const balanceCaseSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  timezone: zone.default('Etc/UTC'),
  sources: z.array(sourceSchema).min(1, 'needs at least one source'),
  devices,
  totalSource: z.string().optional(),
  absent: absent.optional(),
  site: z.looseObject({ absent: absent.optional() }).optional(),
  sites: z.array(z.looseObject({ absent: absent.optional() })).default([]),
  options: optionsSchema,
  expected: z
    .looseObject({
      intervals: z.record(z.string(), z.unknown()).optional(),
      zones: z.record(zone, z.unknown()).optional(),
    })
    .optional(),
});
export const knownKeys = {
  case: Object.keys(balanceCaseSchema.shape),
  source: Object.keys(sourceSchema.shape),
};

export type ParsedCase = z.output<typeof balanceCaseSchema>;
