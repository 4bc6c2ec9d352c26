import { isIPv4, isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { z } from 'zod';
import { isLoopback } from '../lib/is-loopback.ts';
import { parsePort } from '../lib/parse-port.ts';
import { port } from './setting-types.ts';

const addressPattern = /^(?:\[(?<ipv6>[^\]%]+)\]|(?<name>[^:]+))(?::(?<digits>\d+))?$/;
const hostNamePattern = /^[\w-]+(?:\.[\w-]+)*\.?$/;
const onlyDigitsAndDots = /^[\d.]+$/;

/** Where a worker accepts calls of other machines. Used with `queue.backend: redis`. */
export const workerSchema = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1'),
    /** 0: any free port. */
    port: port.default(0),
    /**
     * The host, or host and port, by which other machines reach it. Default: `host`, or the name of the
     * machine if `host` means all addresses.
     */
    address: z
      .string()
      .refine((text) => hostAndPort(text) !== undefined, {
        error:
          'must be a host, or a host and a port, such as "10.0.0.5", "worker-1:8090" or "[fd00::5]:8090"',
      })
      .optional(),
  })
  .prefault({});
type WorkerSettings = z.output<typeof workerSchema>;

/**
 * The host and the port by which others call a worker.
 * @param listeningPort the port on which it listens
 */
export function calledAddress(
  { host, address }: Pick<WorkerSettings, 'host' | 'address'>,
  listeningPort: number,
): { host: string; port: number } {
  const advertised = address === undefined ? undefined : hostAndPort(address);
  if (advertised) return { host: advertised.host, port: advertised.port ?? listeningPort };
  return { host: isEveryAddress(host) ? hostname() : host, port: listeningPort };
}

/** True if only processes of the same machine can call the worker. */
export function isOnlyLocal(settings: Pick<WorkerSettings, 'host' | 'address'>): boolean {
  return isLoopback(settings.host) || isLoopback(calledAddress(settings, 0).host);
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function hostAndPort(text: string): { host: string; port: number | undefined } | undefined {
  const { ipv6, name, digits } = addressPattern.exec(text)?.groups ?? {};
  const port = digits === undefined ? undefined : parsePort(digits);
  // Others cannot call the port 0.
  if (digits !== undefined && !port) return undefined;
  if (ipv6 !== undefined) return isIPv6(ipv6) ? { host: ipv6, port } : undefined;
  return name !== undefined && isIPv4OrName(name) ? { host: name, port } : undefined;
}

function isIPv4OrName(host: string): boolean {
  return isIPv4(host) || (hostNamePattern.test(host) && !onlyDigitsAndDots.test(host));
}
