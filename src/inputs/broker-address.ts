/** The address of a broker for people: protocol, host and path. A query can have a token. */
export function brokerAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
