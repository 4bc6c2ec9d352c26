import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CryptoKey, createLocalJWKSet, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { z } from 'zod';
import { syncFolder, writePrivateFile } from '../lib/durable-files.ts';
import { errorCode, InputError } from '../lib/errors.ts';
import { readNamedFile } from '../lib/read-named-file.ts';
import { MEBIBYTE } from '../lib/units.ts';

/** The two registered names of Ed25519. Other algorithms are never accepted. */
export const algorithms = ['EdDSA', 'Ed25519'];

export interface Keys {
  /** Undefined if only public keys are configured. The service can then check tokens but not issue them. */
  signing: { keyId: string | undefined; key: CryptoKey } | undefined;
  verification: ReturnType<typeof createLocalJWKSet>;
}

const keySchema = z.object({
  kty: z.literal('OKP', { error: 'must be "OKP"' }),
  crv: z.literal('Ed25519', { error: 'must be "Ed25519"' }),
  x: z.string({ error: 'must be the public key' }).min(1),
  d: z.string().min(1).optional(),
  kid: z.string().min(1).optional(),
});
const keySetSchema = z
  .object({ keys: z.array(keySchema).min(1, 'must have at least one key') })
  .refine(({ keys }) => new Set(keys.map((key) => key.kid)).size === keys.length, {
    path: ['keys'],
    error: 'must each have their own "kid" if there are several',
  });

/** Enough for thousands of keys. */
const KEY_FILE_BYTES_MAX = MEBIBYTE;

/** The key file: the configured file, or the file that the first start creates in the data folder. */
export function keyFileOf({ dataDir, jwksFile }: { dataDir: string; jwksFile?: string | undefined }): string {
  return jwksFile ?? join(dataDir, 'access', 'keys.json');
}

/**
 * Reads a JWKS file of Ed25519 keys. The first private key signs, and all keys verify.
 * @throws InputError if the file cannot be used; it never contains key material
 */
export async function readKeys(path: string): Promise<Keys> {
  const fail = (problems: Array<{ path: string; message: string }>) =>
    new InputError(`the key file ${path}`, problems);
  const content = readNamedFile(path, KEY_FILE_BYTES_MAX);
  if ('problem' in content) throw fail([{ path: '', message: content.problem }]);
  let value: unknown;
  try {
    value = JSON.parse(content.text);
  } catch {
    throw fail([{ path: '', message: 'is not JSON' }]);
  }
  const parsed = keySetSchema.safeParse(value);
  if (!parsed.success)
    throw fail(parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })));
  const { keys } = parsed.data;
  const publicKeys: JWK[] = keys.map(({ kty, crv, x, kid }) => ({ kty, crv, x, ...(kid && { kid }) }));
  const signer = keys.find((key) => key.d !== undefined);
  try {
    for (const key of publicKeys) await importJWK(key, 'EdDSA');
    return {
      signing: signer && { keyId: signer.kid, key: (await importJWK(signer, 'EdDSA')) as CryptoKey },
      verification: createLocalJWKSet({ keys: publicKeys }),
    };
  } catch {
    throw fail([{ path: 'keys', message: 'a key is not a valid Ed25519 key' }]);
  }
}

/**
 * Creates a key file that only its owner can read, if there is none. Of two processes, one creates it and
 * both use it.
 */
export async function ensureKeys(path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) return;
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: 'EdDSA', use: 'sig' };
  const draft = `${path}.${randomUUID()}.draft`;
  writePrivateFile(draft, `${JSON.stringify({ keys: [key] }, undefined, 2)}\n`);
  try {
    linkSync(draft, path);
    syncFolder(dirname(path));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
}
