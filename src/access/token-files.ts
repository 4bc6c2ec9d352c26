import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { UtcMs } from '../lib/time.ts';
import type { Scopes } from './grant.ts';
import { openLineFile } from './line-file.ts';

/** The stored data of a token, without the token itself. */
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

/** The issued and the revoked tokens, in two files that processes share and only append to. */
interface TokenFiles {
  addIssued(record: TokenRecord): void;
  issued(): readonly TokenRecord[];
  addRevoked(revocation: z.output<typeof revocationSchema>): void;
  /** The time at which any process revoked the token; undefined if it is not revoked. */
  revokedAt(tokenId: string): UtcMs | undefined;
  /** All revoked tokens, with the time at which each was revoked. */
  revoked(): ReadonlyMap<string, UtcMs>;
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
  const revokedFile = openLineFile(revokedFileOf(folder), (value) => revocationSchema.safeParse(value).data, {
    take: ({ tokenId, revokedAtMs }) => revoked.set(tokenId, revokedAtMs),
    // A revoked token stays revoked in this process, even if the file is emptied.
    reset: () => undefined,
  });
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
    revoked() {
      revokedFile.refresh();
      return revoked;
    },
  };
}

export function revokedFileOf(folder: string): string {
  return join(folder, 'revoked.ndjson');
}

/** The workgroups in which each token was used, in a file that processes share and only append to. */
interface UsedTokens {
  has(tokenId: string, workgroupId: string): boolean;
  /**
   * Records the use unless the file has it. Two processes that add it at the same moment may both record it.
   * @returns false if the file had it
   */
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
