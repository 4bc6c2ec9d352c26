import { z } from 'zod';
import { deviceIdSchema, nameSchema, workgroupIdSchema } from '../contract/messages.ts';
import { SOCKET_PATH } from '../contract/socket-events.ts';
import { isTimeZone } from '../lib/time.ts';
import { peakPowerSchema, roleEntrySchema, roleSchema } from '../roles/role.ts';
import { refuseWrongRoles } from '../roles/validate-roles.ts';
import { energyStreamSchema } from './energy-stream.ts';
import { inputsSchema } from './input-settings.ts';
import { metersSchema, refuseUnknownMeters, sitesSchema } from './meters.ts';
import { refuseTwice } from './refuse-twice.ts';
import { deviceTimeout, httpUrl, socketPath } from './setting-types.ts';

const workgroupFields = z.strictObject({
  // JavaScript objects cannot have this key.
  id: workgroupIdSchema.refine((id) => id !== '__proto__', { error: 'cannot be "__proto__"' }),
  /** IANA zone of the days of this workgroup. */
  timezone: z
    .string()
    .refine(isTimeZone, { error: 'is not a time zone of the IANA database, such as "Europe/Paris"' })
    .default('Etc/UTC'),
  /** Fields with energy, in the order in which they are tried. */
  energyStreams: z
    .array(energyStreamSchema)
    .default([])
    .superRefine((streams, context) =>
      refuseTwice(
        streams,
        context,
        'field',
        ({ table, field, method, as }) => JSON.stringify([table, field, method, as]),
        ({ table, field, method, as }) =>
          `${table}.${field} is read twice by ${method}${as === undefined ? '' : `, both as ${as}`}; remove one, or write as: <source> to make each its own source`,
      ),
    ),
  /** The source that is the whole device. Without it a device is the sum of its sources. */
  totalSource: nameSchema.optional(),
  devices: z
    .array(
      z.strictObject({
        id: deviceIdSchema,
        name: nameSchema.optional(),
        totalSource: nameSchema.optional(),
        /** Only these sources add up to the device. If one is missing, the day is incomplete. */
        sources: z.array(nameSchema).min(1, 'must name a source, or be left out').optional(),
        /** The role of the device, if its sources have several. */
        energyRole: roleSchema.optional(),
        /** Of its production, for the specific yield. */
        peakPower: peakPowerSchema.optional(),
      }),
    )
    .default([])
    .superRefine((devices, context) => {
      refuseTwice(devices, context, 'id', ({ id }) => id.toLowerCase());
      refuseTwice(devices, context, 'name', ({ name }) => name?.toLowerCase());
    }),
  /** The meaning of the energy of sources: production, consumption, grid or battery. */
  roles: z.array(roleEntrySchema).default([]),
  /** Groups that tokens can be restricted to. */
  deviceGroups: z.record(nameSchema, z.array(deviceIdSchema)).default({}),
  /** Meters with uploaded readings, or with a device. */
  meters: metersSchema,
  /** Meters and devices that measure the same energy. */
  sites: sitesSchema,
  /** Overrides `stream.deviceTimeout`. */
  deviceTimeout: deviceTimeout.optional(),
  /** The stream to read. Default: the stream of this service. */
  upstream: z
    .strictObject({
      url: httpUrl,
      token: z.string().min(1).optional(),
      /** The id of the workgroup on the upstream. */
      workgroup: z.string().min(1).optional(),
      table: z.string().min(1).default('-'),
      /** How the stream is read: by requests, or over socket.io. If the socket fails, REST is used. */
      transport: z.enum(['rest', 'socket'], { error: 'must be "rest" or "socket"' }).default('rest'),
      /** The path of its socket.io. */
      socketPath: socketPath.default(SOCKET_PATH),
    })
    .optional(),
  /** Messages of MQTT brokers, and lines of the Influx line protocol. */
  inputs: inputsSchema.optional(),
});

export const workgroupSchema = workgroupFields
  .superRefine(refuseUnknownMeters)
  .superRefine(refuseWrongRoles)
  .refine(({ upstream, inputs }) => upstream === undefined || inputs === undefined, {
    path: ['inputs'],
    error: 'cannot be used with an upstream, because the workgroup reads another stream; remove one',
  });
