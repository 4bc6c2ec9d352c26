import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { repositoryRoot } from '../support/readme.ts';

const text = z.string().min(1);
const duration = z.string().regex(/^\d+s$/);
/** What the files of ops/compose use of the format of Compose. */
const serviceSchema = z.strictObject({
  image: text,
  command: z.array(text),
  user: text.optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)).optional(),
  network_mode: z.string().startsWith('service:').optional(),
  environment: z.record(z.string(), z.string()).optional(),
  volumes: z.array(z.string().regex(/^(\.\/)?[\w.-]+:\/[\w./-]+(:ro)?$/)),
  // Only the data folder and /tmp can be written, and nobody gets more rights.
  read_only: z.literal(true),
  tmpfs: z.tuple([z.literal('/tmp')]),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  stop_grace_period: z.literal('20s'),
  restart: z.enum(['unless-stopped', 'no']),
  depends_on: z
    .record(
      z.string(),
      z.object({ condition: z.enum(['service_completed_successfully', 'service_healthy']) }),
    )
    .optional(),
  healthcheck: z.union([
    z.strictObject({ disable: z.literal(true) }),
    z.strictObject({
      test: z.array(text),
      interval: duration.optional(),
      timeout: duration.optional(),
      start_period: duration.optional(),
    }),
  ]),
});
export type ComposeService = z.infer<typeof serviceSchema>;

/**
 * A file of ops/compose.
 * @throws ZodError if it is not of the format, or if a service is less guarded than the others
 */
export function readComposeFile(name: string): {
  services: Record<string, ComposeService>;
  volumes: Record<string, object>;
} {
  const file = parse(readFileSync(join(repositoryRoot, 'ops/compose', name), 'utf8'), { merge: true });
  const own = Object.entries(file).filter(([key]) => !key.startsWith('x-'));
  const schema = z.strictObject({
    services: z.record(z.string(), serviceSchema),
    volumes: z.record(z.string(), z.strictObject({})),
  });
  return schema.parse(Object.fromEntries(own));
}
