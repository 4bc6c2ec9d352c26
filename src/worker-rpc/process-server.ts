import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { TerminalError } from '../lib/errors.ts';
import { toPlainError } from '../lib/plain-error.ts';
import { writeProcessFile } from './process-file.ts';
import type { ProcessOperations } from './process-rpc.ts';
import { hasSecret, listenLocally, sendRpc } from './rpc-http.ts';

/**
 * Lets commands on this machine call operations of this process.
 * @returns stops it
 */
export async function startProcessServer(options: {
  dataDir: string;
  roles: readonly string[];
  operations: { [Name in keyof ProcessOperations]: () => Promise<ProcessOperations[Name]> };
}): Promise<() => Promise<void>> {
  const { dataDir, roles, operations } = options;
  const secret = randomBytes(32).toString('base64url');
  const isOperation = (name: string): name is keyof ProcessOperations => Object.hasOwn(operations, name);
  const server = await listenLocally(async (request, response) => {
    const name = (request.url ?? '').slice(1);
    if (request.method !== 'POST' || !hasSecret(request, secret)) return sendRpc(response, 401, {});
    try {
      if (!isOperation(name))
        throw new TerminalError(
          'UnknownOperation',
          'the service does not have this operation; it may have another version',
        );
      sendRpc(response, 200, { result: await operations[name]() });
    } catch (error) {
      sendRpc(response, 422, { error: toPlainError(error) });
    }
  });
  const { port } = server.address() as AddressInfo;
  const file = writeProcessFile(dataDir, { port, secret, roles: [...roles] });
  return async () => {
    file.remove();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
