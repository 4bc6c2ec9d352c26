import ipaddr from 'ipaddr.js';

/** An IPv6 address has 8 parts of 16 bits. The first 4 are its network. */
const NETWORK_PARTS = 4;

/**
 * The caller of an address: an IPv4 address itself, or the /64 network of an IPv6 address. The owner of an
 * IPv6 address usually has the whole network and could use a new address for each request.
 */
export function addressGroup(address: string): string {
  // The library does not accept the name of every network interface as a zone.
  const [withoutZone = ''] = address.split('%');
  if (!ipaddr.isValid(withoutZone)) return address;
  // `process` makes an IPv4 address of an IPv6 address that contains one.
  const parsed = ipaddr.process(withoutZone);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, NETWORK_PARTS).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
