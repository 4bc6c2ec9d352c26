import { isIPv4 } from 'node:net';

/** True if a host, as a name or an address, is this machine: 127.0.0.0/8 (RFC 1122), ::1, or localhost. */
export function isLoopback(host: string): boolean {
  return (isIPv4(host) && host.startsWith('127.')) || host === '::1' || host.toLowerCase() === 'localhost';
}
