import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { UtcMs } from '../lib/time.ts';
import type { Scopes } from './grant.ts';

import { openLineFile } from './line-file.ts';

/** What is remembered of a token. */
export interface TokenRecord {
  tokenId: string;
  subject: string;
  scopes: Scopes;
  issuedAtMs: UtcMs;
  expiresAtMs: UtcMs;
}

const recordSchema = z.object({
  tokenId: z.string(),
  subject: z.string(),
  scopes: z.record(
    z.string(),
    z.object({ permissions: z.array(z.string()), deviceGroups: z.array(z.string()).optional() }),
  ),
  issuedAtMs: z.number(),
  expiresAtMs: z.number(),
});
const usedSchema = z.object({ tokenId: z.string(), workgroupId: z.string(), firstUsedAtMs: z.number() });
const revocationSchema = z.object({ tokenId: z.string(), revokedAtMs: z.number() });

/** The tokens that were issued and those that were revoked, in two append-only files that processes share. */
export interface TokenFiles {
  addIssued(record: TokenRecord): void;
  issued(): readonly TokenRecord[];
  addRevoked(revocation: z.output<typeof revocationSchema>): void;
  /** When the token was revoked, by whichever process; undefined where it was not. */
  revokedAt(tokenId: string): UtcMs | undefined;
}

export function openTokenFiles(folder: string): TokenFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let records: TokenRecord[] = [];
  const revoked = new Map<string, UtcMs>();
  const issuedFile = openLineFile(
    join(folder, 'issued.ndjson'),
    (value) => recordSchema.safeParse(value).data,
    {
      take: (record) => records.push(record),
      reset: () => {
        records = [];
      },
    },
  );
  const revokedFile = openLineFile(
    join(folder, 'revoked.ndjson'),
    (value) => revocationSchema.safeParse(value).data,
    {
      take: ({ tokenId, revokedAtMs }) => revoked.set(tokenId, revokedAtMs),
      // What was revoked stays so for this process, even where somebody empties the file.
      reset: () => undefined,
    },
  );
  return {
    addIssued: (record) => issuedFile.append(record),
    issued() {
      issuedFile.refresh();
      return records;
    },
    addRevoked: (revocation) => revokedFile.append(revocation),
    revokedAt(tokenId) {
      revokedFile.refresh();
      return revoked.get(tokenId);
    },
  };
}

/** Which tokens have been let in to which workgroups, in an append-only file that processes share. */
export interface UsedTokens {
  has(tokenId: string, workgroupId: string): boolean;
  /** @returns false where another process has noted it meanwhile */
  add(tokenId: string, workgroupId: string, firstUsedAtMs: UtcMs): boolean;
}

export function openUsedTokens(dataDir: string): UsedTokens {
  const folder = join(dataDir, 'access');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const used = new Set<string>();
  const keyOf = (tokenId: string, workgroupId: string) => `${workgroupId} ${tokenId}`;
  const file = openLineFile(join(folder, 'used.ndjson'), (value) => usedSchema.safeParse(value).data, {
    take: ({ tokenId, workgroupId }) => used.add(keyOf(tokenId, workgroupId)),
    reset: () => undefined,
  });
  return {
    has: (tokenId, workgroupId) => used.has(keyOf(tokenId, workgroupId)),
    add(tokenId, workgroupId, firstUsedAtMs) {
      file.refresh();
      if (used.has(keyOf(tokenId, workgroupId))) return false;
      file.append({ tokenId, workgroupId, firstUsedAtMs });
      return true;
    },
  };
}
