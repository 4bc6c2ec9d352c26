import { isIPv6 } from 'node:net';

const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** An IPv6 address has 8 groups of 16 bits. The first 4 are its network. */
const NETWORK_GROUPS = 4;

/**
 * The caller of an address: an IPv4 address itself, or the /64 network of an IPv6 address. The owner of an
 * IPv6 address usually has the whole network and could use a new address for each request.
 */
export function addressGroup(address: string): string {
  const ipv4 = IPV4_IN_IPV6.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  const [withoutZone = ''] = address.split('%');
  if (!isIPv6(withoutZone)) return address;
  const [before = '', after] = withoutZone.split('::');
  const groupsOf = (text: string | undefined) => (text ? text.split(':') : []);
  const first = groupsOf(before);
  const last = groupsOf(after);
  const zeros = after === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const network = [...first, ...new Array<string>(zeros).fill('0'), ...last].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
