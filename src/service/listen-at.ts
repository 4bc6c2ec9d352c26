import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { localUrl } from '../http/local-url.ts';
import { errorCode, errorMessage, TerminalError, TransientError } from '../lib/errors.ts';

/**
 * Listens at an address.
 * @param settings how a person chooses another address, and another port, for errors
 * @returns the address by which this machine reaches the server
 * @throws TransientError if the port is taken, TerminalError if the address cannot be used
 */
export async function listenAt(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  settings: { address: string; port: string },
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE')
      throw new TerminalError(
        'CannotListen',
        `port ${port} of ${host} cannot be used (${errorMessage(error)}); choose another address with ${settings.address}`,
        { cause: error },
      );
    throw new TransientError(
      'PortTaken',
      `port ${port} of ${host} is already used; stop the other program, or choose another port with ${settings.port}`,
      { cause: error },
    );
  }
  return localUrl(host, (app.server.address() as AddressInfo).port);
}
