import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { errorCode } from '../lib/errors.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

/**
 * The ports of HTTP: free, or used by a process of this data folder.
 * @param ownUrls the addresses of the running processes of this data folder
 */
export function checkPorts({ http }: Pick<Config, 'http'>, ownUrls: () => Promise<string[]>): Check {
  return {
    name: 'ports',
    async run() {
      const own = new Set((await ownUrls()).map((url) => Number(new URL(url).port)));
      const roles = Map.groupBy(
        [
          ['up', http.port],
          ['stream', http.streamPort],
          ['report', http.reportPort],
        ] as const,
        ([, port]) => port,
      );
      return Promise.all(
        [...roles].map(async ([port, users]) => {
          const names = users.map(([role]) => `"wattline ${role}"`).join(' and ');
          if (own.has(port)) return ok(`port ${port} (${names}) is used by a process of this data folder`);
          // A process that has another port needs none of these.
          return lookAt(http.host, port, names, own.size > 0);
        }),
      );
    },
  };
}

/** Listens for a moment. */
async function lookAt(host: string, port: number, names: string, isServed: boolean): Promise<Fact> {
  const where = `port ${port} of ${host} (${names})`;
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, exclusive: true }, resolve);
    });
    await new Promise((resolve) => server.close(resolve));
    return ok(`${where} is free`);
  } catch (error) {
    switch (errorCode(error)) {
      case 'EADDRINUSE': {
        const found = `${where} is used by another program, or by a service with another data folder`;
        return isServed
          ? warning(found, `choose another port before you start ${names}`)
          : problem(found, `end that program (ss -ltnp | grep :${port}), or choose another port`);
      }
      case 'EACCES':
        return problem(`this user may not use ${where}`, 'choose a port above 1023');
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        return problem(
          `${where}: this machine has no such address`,
          'correct http.host, for example 127.0.0.1 or 0.0.0.0',
        );
      default:
        return problem(`${where} cannot be used (${errorCode(error)})`, 'choose another port');
    }
  }
}
