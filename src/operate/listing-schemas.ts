import { z } from 'zod';

/** The schemas of lists: devices, sites, meters, tokens and the audit log. */

const instant = z.iso.datetime().nullable();
const device = '0b0e7c1e-0000-4000-8000-000000000001';

export const deviceListSchema = z
  .object({
    devices: z.array(
      z.object({
        id: z.string(),
        name: z.string().nullable().meta({ description: 'As it is configured' }),
        state: z.enum(['online', 'offline', 'unknown']),
        since: instant.meta({ description: 'When the state changed' }),
        reason: z.string().nullable(),
        lastSeen: instant.meta({ description: 'Minute in which its newest data was stored' }),
        sites: z.array(z.string()),
        meters: z.array(z.string()).meta({ description: 'Codes of the meters that are read from it' }),
        sources: z.array(
          z.object({
            source: z.string(),
            role: z.string().nullable().meta({ description: 'Null: no role is declared' }),
            negativeRole: z.string().nullable(),
            from: z.string().nullable().meta({ description: 'First day of the role; null: always' }),
            to: z.string().nullable(),
          }),
        ),
      }),
    ),
  })
  .meta({
    description: 'Devices by id: configured ones, and ones with messages',
    example: {
      devices: [
        {
          id: device,
          name: 'garage',
          state: 'online',
          since: '2026-11-20T07:05:00.000Z',
          reason: 'data received',
          lastSeen: '2026-11-20T08:00:00.000Z',
          sites: ['home'],
          meters: [],
          sources: [{ source: 'pv', role: 'production', negativeRole: null, from: null, to: null }],
        },
      ],
    },
  });

export const siteListSchema = z
  .object({
    sites: z.array(
      z.object({
        name: z.string(),
        meters: z.array(z.string()).meta({ description: 'Codes of its meters' }),
        devices: z.array(z.object({ id: z.string(), name: z.string().nullable() })),
      }),
    ),
  })
  .meta({
    description: 'The sites whose members the token can all see',
    example: { sites: [{ name: 'home', meters: ['GRID-1'], devices: [{ id: device, name: 'garage' }] }] },
  });

export const meterListSchema = z
  .object({
    meters: z.array(
      z.object({
        code: z.string(),
        name: z.string().nullable(),
        device: z.string().nullable().meta({ description: 'The device that it is read from' }),
        source: z.string().nullable(),
        sites: z.array(z.string()),
      }),
    ),
  })
  .meta({
    description: 'Meters that the token can see',
    example: {
      meters: [{ code: 'GRID-1', name: 'street', device: null, source: null, sites: ['home'] }],
    },
  });

export const tokenListSchema = z
  .object({
    tokens: z.array(
      z.object({
        id: z.string(),
        subject: z.string(),
        permissions: z.array(z.string()).meta({ description: 'In this workgroup' }),
        deviceGroups: z.array(z.string()).nullable().meta({ description: 'Null: all devices' }),
        issuedAt: z.iso.datetime(),
        expiresAt: z.iso.datetime(),
        state: z.enum(['active', 'expired', 'revoked']),
        revokedAt: instant,
      }),
    ),
    total: z.number().int(),
  })
  .meta({
    description: 'Tokens for this workgroup, newest first, at most 1,000. A token itself is stored nowhere',
    example: {
      tokens: [
        {
          id: '5f0c9c0e-3f6e-4f0e-9b1a-0d6f6f2f4b11',
          subject: 'dashboard',
          permissions: ['search:read'],
          deviceGroups: null,
          issuedAt: '2026-11-20T08:00:00.000Z',
          expiresAt: '2027-11-20T08:00:00.000Z',
          state: 'active',
          revokedAt: null,
        },
      ],
      total: 1,
    },
  });

export const auditListSchema = z
  .object({
    entries: z.array(
      z.object({
        at: z.iso.datetime(),
        actor: z.string().nullable(),
        action: z.string().nullable().meta({ description: 'Such as token.created' }),
        target: z.string().nullable(),
        data: z.record(z.string(), z.unknown()).nullable(),
      }),
    ),
    next: z.string().nullable().meta({ description: '`before` of the next page; null at the end' }),
  })
  .meta({
    description: 'Entries of the audit log, newest first',
    example: {
      entries: [
        {
          at: '2026-11-20T08:00:00.000Z',
          actor: 'local:anna',
          action: 'token.created',
          target: '5f0c9c0e-3f6e-4f0e-9b1a-0d6f6f2f4b11',
          data: { name: 'dashboard' },
        },
      ],
      next: null,
    },
  });
