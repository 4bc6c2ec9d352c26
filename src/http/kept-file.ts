import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip } from './accept-header.ts';
import { etagOfBytes, matchesEtag } from './etag.ts';

/**
 * A file of the service itself, in memory. Everyone may read these files without a token, so an answer must
 * cost little. The file is compressed once, and all answers share these bytes, also answers that a caller
 * does not read.
 */
export interface KeptFile {
  plain: Buffer;
  packed: Buffer;
  etag: string;
  headers: Readonly<Record<string, string>>;
}

const pack = promisify(gzip);

/** @param headers what every answer with this file has, with its `Content-Type` */
export async function keepFile(plain: Buffer, headers: KeptFile['headers']): Promise<KeptFile> {
  return { plain, packed: await pack(plain), etag: etagOfBytes(plain), headers };
}

/** Sends a file as the caller can read it, or 304 if the caller has it already. */
export function sendKeptFile(
  { headers: asked }: FastifyRequest,
  reply: FastifyReply,
  { plain, packed, etag, headers }: KeptFile,
): FastifyReply {
  reply.headers({ ...headers, ETag: etag, Vary: 'Accept-Encoding' });
  if (matchesEtag(asked['if-none-match'], etag)) return reply.code(304).send();
  const isPacked = acceptsGzip(asked['accept-encoding']?.toString()) && packed.length < plain.length;
  if (!isPacked) return reply.send(plain);
  return reply.header('Content-Encoding', 'gzip').send(packed);
}
