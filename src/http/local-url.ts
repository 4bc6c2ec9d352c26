/** An address that can be called. For a server that listens everywhere it is this machine. */
export function localUrl(host: string, port: number): string {
  const callable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${callable.includes(':') ? `[${callable}]` : callable}:${port}`;
}
