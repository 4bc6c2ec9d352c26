import { z } from 'zod';
import { deviceIdSchema, nameSchema, workgroupIdSchema } from '../contract/messages.ts';
import { SOCKET_PATH } from '../contract/socket-events.ts';
import { isTimeZone } from '../lib/time.ts';
import { peakPowerSchema, roleEntrySchema, roleSchema } from '../roles/role.ts';
import { refuseWrongRoles } from '../roles/validate-roles.ts';
import { energyStreamSchema } from './energy-stream.ts';
import { metersSchema, refuseUnknownMeters, sitesSchema } from './meters.ts';
import { deviceTimeout, httpUrl, socketPath } from './setting-types.ts';

/** Things that are told apart by a key cannot share one. */
export function refuseTwice<Item>(
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
export function usedTwice(name: string) {
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
