import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Access } from '../access/access.ts';
import { OFFSET_MAX } from '../contract/offset.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { countParameter } from '../http/query-schemas.ts';
import { tagged } from '../http/send-tagged.ts';
import { formatInstant } from '../lib/time.ts';
import { addressSchema } from '../report/day-request.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { type AuditPosition, readAuditEntries } from '../report/read-audit.ts';
import { formatShape } from '../report/rows/row-format.ts';
import { auditListSchema, tokenListSchema } from './listing-schemas.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { type ListRows, sendList } from './send-list.ts';

const root = '/api/v1/orgs/:workgroupId';
const TOKENS_LISTED_MAX = 1_000;
const ENTRIES_DEFAULT = 100;
const AUDIT_ENTRIES_MAX = 1_000;

const auditQuerySchema = z.object({
  before: z
    .string({ error: 'must be given once' })
    .regex(/^\d{1,15}-\d{1,20}$/, { error: 'must be the `next` of an answer' })
    .optional()
    .meta({ description: 'Only older entries, for the next page: `next` of the answer before' }),
  limit: countParameter(AUDIT_ENTRIES_MAX).meta({
    description: `The maximum number of entries of the answer: ${ENTRIES_DEFAULT} by default`,
  }),
  ...formatShape,
});

/** Tokens of a workgroup, never the tokens themselves, and its audit log. */
export function registerAccessRoutes(
  app: FastifyInstance,
  { guard, access, lake }: { guard: OperatorGuard; access: Pick<Access, 'list'>; lake: LakeReader },
): void {
  const about = { tags: ['operate'], params: addressSchema };
  app.get(
    `${root}/tokens`,
    {
      attachValidation: true,
      schema: {
        ...about,
        summary: 'Tokens',
        description:
          'Tokens for this workgroup that were issued in this data folder, with their permissions here. Needs `org:admin`.',
        querystring: z.object(formatShape),
        response: tagged(tokenListSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['org:admin']);
      const tokens = access
        .list()
        .flatMap(({ tokenId, subject, scopes, issuedAtMs, expiresAtMs, ...more }) => {
          const scope = Object.hasOwn(scopes, workgroup.id) ? scopes[workgroup.id] : undefined;
          if (!scope) return [];
          return [
            {
              id: tokenId,
              subject,
              permissions: scope.permissions,
              deviceGroups: scope.deviceGroups ?? null,
              issuedAt: formatInstant(issuedAtMs),
              expiresAt: formatInstant(expiresAtMs),
              state: more.state,
              revokedAt: more.revokedAtMs === undefined ? null : formatInstant(more.revokedAtMs),
            },
          ];
        });
      const answer = { tokens: tokens.slice(0, TOKENS_LISTED_MAX), total: tokens.length };
      return sendList(request, reply, lake, answer, tokenRows(answer.tokens));
    },
  );
  app.get(
    `${root}/audit`,
    {
      attachValidation: true,
      schema: {
        ...about,
        summary: 'Audit log',
        description:
          'Who did what, newest first, as published: seconds behind. Needs `search:read` and `org:audit`, as the table `audit_logs` of the stream does. Rows have the header `Wattline-Next` instead of `next`.',
        querystring: auditQuerySchema,
        response: tagged(auditListSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read', 'org:audit']);
      const { before, limit = ENTRIES_DEFAULT } = request.query as z.output<typeof auditQuerySchema>;
      const generation = await lake.newestGeneration(workgroup.id);
      const page = { before: before === undefined ? undefined : positionOf(before), limit: limit + 1 };
      const readEntries = await readAuditEntries(lake, generation, page);
      const entriesOfPage = readEntries.slice(0, limit);
      const last = entriesOfPage.at(-1)?.position;
      const entries = entriesOfPage.map(({ atMs, position: _, ...entry }) => ({
        at: formatInstant(atMs),
        ...entry,
      }));
      const next = readEntries.length > limit && last ? `${last.storeMs}-${last.offset}` : null;
      if (next !== null) reply.header('Wattline-Next', next);
      return sendList(
        request,
        reply,
        lake,
        { entries, next },
        {
          name: 'audit',
          columns: ['happened_at', 'actor', 'action', 'target', 'data'],
          rows: entries.map(({ at, data, ...entry }) => ({
            ...entry,
            happened_at: at,
            data: data === null ? null : JSON.stringify(data),
          })),
        },
      );
    },
  );
  rejectOtherMethods(app, `${root}/tokens`, ['GET']);
  rejectOtherMethods(app, `${root}/audit`, ['GET']);
}

function tokenRows(tokens: z.output<typeof tokenListSchema>['tokens']): ListRows {
  return {
    name: 'tokens',
    columns: [
      ...(['token', 'subject', 'permissions', 'device_groups', 'issued_at', 'expires_at'] as const),
      ...(['state', 'revoked_at'] as const),
    ],
    rows: tokens.map(({ id, subject, permissions, state, ...one }) => ({
      token: id,
      subject,
      permissions,
      device_groups: one.deviceGroups,
      issued_at: one.issuedAt,
      expires_at: one.expiresAt,
      state,
      revoked_at: one.revokedAt,
    })),
  };
}

function positionOf(text: string): AuditPosition {
  const [storeMs, offset] = text.split('-') as [string, string];
  if (BigInt(offset) > OFFSET_MAX)
    throw new StreamError('InvalidRequest', 'before: must be the `next` of an answer', {
      parameter: 'before',
    });
  return { storeMs: Number(storeMs), offset };
}
