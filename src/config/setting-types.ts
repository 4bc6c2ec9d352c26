import { z } from 'zod';
import { parsePort } from '../lib/parse-port.ts';
import { DAY_MS, SECOND_MS } from '../lib/time.ts';
import { type Dimension, formatDuration, parseQuantity } from '../lib/units.ts';

/** A duration such as `1s` or `24h`. Parsed to milliseconds. */
export function duration(options: { minMs: number; maxMs: number }) {
  return z
    .union([z.number(), z.string()])
    .transform((value, context) => {
      const ms = typeof value === 'number' ? value : parseQuantity('duration', value);
      if (ms === undefined)
        context.addIssue({
          code: 'custom',
          message: 'must be a duration such as "500ms", "5s", "15m", "1h" or "2d"',
        });
      else if (ms < options.minMs || ms > options.maxMs) {
        context.addIssue({
          code: 'custom',
          message: `must be from ${formatDuration(options.minMs)} to ${formatDuration(options.maxMs)}; a number alone is milliseconds`,
        });
      } else return Math.round(ms);
      return z.NEVER;
    })
    .meta({ dimension: 'duration' satisfies Dimension });
}

/** A device is offline once it is silent for this long. */
export const deviceTimeout = z.union(
  [z.literal('off'), duration({ minMs: 5 * SECOND_MS, maxMs: 30 * DAY_MS })],
  {
    error: 'must be "off" or a duration such as "15m", from 5 s to 30 d',
  },
);

const NO_PORT = 'must be a port from 0 to 65535';
export const port = z
  .union([z.number(), z.string()], { error: NO_PORT })
  .transform((value) => parsePort(String(value)))
  .pipe(z.number({ error: NO_PORT }));
export const redisUrl = z.url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// address' });
const sentinel = z
  .string()
  .regex(
    /^(rediss?:\/\/([^\s/]+@)?)?[\w.-]+(:\d{1,5})?$/,
    'must be a host and a port, such as "10.0.0.1:26379" or "rediss://:password@10.0.0.1:26379"',
  )
  .transform((text) => (text.includes('://') ? text : `redis://${text}`))
  .refine((text) => URL.canParse(text), 'must have a port from 0 to 65535');
export const sentinels = z
  .array(sentinel)
  .min(1)
  .refine((all) => new Set(all.map(sentinelAccess)).size === 1, {
    error: 'must have the same user and password, and either all or none use rediss://',
    when: ({ issues }) => issues.length === 0,
  });
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' });
export const webOrigin = z
  .string()
  .refine((text) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text, {
    error: 'must be an origin such as "https://grafana.example.com", without a path; "*" is not possible',
  });
export const socketPath = z
  .string()
  .regex(/^(\/[A-Za-z0-9._~-]+)+$/, 'must be a path such as "/socket.io-client"');

function sentinelAccess(text: string): string {
  const { protocol, username, password } = new URL(text);
  return [protocol, username, password].join(' ');
}
