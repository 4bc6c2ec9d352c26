import { z } from 'zod';
import { nameSchema, workgroupIdSchema } from '../contract/messages.ts';
import type { UtcMs } from '../lib/time.ts';

/** What a token can allow in a workgroup. */
export const permissions = ['search:read', 'org:audit', 'data:write', 'data:correct'] as const;
export type Permission = (typeof permissions)[number];

/**
 * What a token allows in one workgroup. A member that this version does not know may be a restriction, so it makes
 * the whole token invalid rather than being passed over.
 */
const workgroupScopeSchema = z.strictObject({
  permissions: z.array(z.string().min(1).max(64)).max(64),
  /** The only devices the token may see, by the groups of the configuration; all devices where it is absent. */
  deviceGroups: z.array(nameSchema).max(1_000).optional(),
});
export type WorkgroupScope = z.output<typeof workgroupScopeSchema>;

const scopesSchema = z.record(workgroupIdSchema, workgroupScopeSchema);
export type Scopes = Record<string, WorkgroupScope>;

const textSchema = z.string().min(1).max(256);

/** The claims of a token, beside the ones of RFC 7519 that need no look. Times are seconds since 1970. */
export const claimsSchema = z.object({
  sub: textSchema,
  jti: textSchema,
  iat: z.number().int(),
  exp: z.number().int(),
  scopes: scopesSchema,
});

/** What is asked for when a token is made. */
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

/** What the holder of a token may do, and until when. */
export interface Grant {
  tokenId: string;
  subject: string;
  scopes: Scopes;
  expiresAtMs: UtcMs;
}
