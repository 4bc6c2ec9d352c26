import { z } from 'zod';
import { nameSchema, workgroupIdSchema } from '../contract/messages.ts';
import type { UtcMs } from '../lib/time.ts';

/** The permissions that a token can have in a workgroup. */
export const permissions = ['search:read', 'org:audit', 'org:admin', 'data:write', 'data:correct'] as const;
export type Permission = (typeof permissions)[number];

/** A token with more permissions or device groups in one workgroup is invalid. */
const PERMISSIONS_MAX = 64;
const DEVICE_GROUPS_MAX = 1_000;

/**
 * The rights of a token in one workgroup. Unknown members make the token invalid, because they may be
 * restrictions of a later version.
 */
const workgroupScopeSchema = z.strictObject({
  permissions: z.array(z.string().min(1).max(64)).max(PERMISSIONS_MAX),
  /** The token may read the devices of these groups of the configuration; all devices if absent. */
  deviceGroups: z.array(nameSchema).max(DEVICE_GROUPS_MAX).optional(),
});
export type WorkgroupScope = z.output<typeof workgroupScopeSchema>;

const scopesSchema = z.record(workgroupIdSchema, workgroupScopeSchema);
export type Scopes = Record<string, WorkgroupScope>;

const textSchema = z.string().min(1).max(256);

/**
 * The claims of a token that are used. Times are seconds since 1970. Unknown claims are ignored, as RFC 7519
 * (section 4) says. So a restriction must be in the scopes, where an older version refuses it.
 */
export const claimsSchema = z.object({
  sub: textSchema,
  jti: textSchema,
  iat: z.number().int(),
  exp: z.number().int(),
  scopes: scopesSchema,
});

/** A request for a new token. */
export const issueRequestSchema = z.strictObject({
  subject: textSchema,
  scopes: z
    .record(
      workgroupIdSchema,
      z.strictObject({
        permissions: z.array(z.enum(permissions)).min(1),
        deviceGroups: z.array(nameSchema).min(1).optional(),
      }),
    )
    .refine((scopes) => Object.keys(scopes).length > 0, { error: 'must name at least one workgroup' }),
  lifetimeMs: z.number().int().min(1_000),
});
export type IssueRequest = z.input<typeof issueRequestSchema>;

/** The rights of a valid token, and their end. */
export interface Grant {
  tokenId: string;
  subject: string;
  scopes: Scopes;
  expiresAtMs: UtcMs;
}

/** The token of a request, as the actor of what it changes. For commands see `localActor`. */
export function actorOf({ tokenId, subject }: Pick<Grant, 'tokenId' | 'subject'>): string {
  return `token:${tokenId} ${subject}`;
}
