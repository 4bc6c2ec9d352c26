import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../../src/lib/errors.ts';

/**
 * Below 32,768, where Linux begins to choose ports for outgoing connections: such a connection could take the
 * port before its server listens.
 */
const PORTS = { first: 15_000, count: 17_000 };

/** A free port of this machine that no other test of this run gets. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if (claim(port) && (await isFree(port))) return port;
  }
}

/**
 * @returns false if another test of this run has the port; all processes of a run share a folder, and a
 *   benchmark has none
 */
function claim(port: number): boolean {
  const run = process.env.WATTLINE_TEST_RUN;
  if (run === undefined) return true;
  const ports = join(run, 'ports');
  mkdirSync(ports, { recursive: true });
  try {
    mkdirSync(join(ports, String(port)));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listens = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (listens) await new Promise((resolve) => server.close(resolve));
  return listens;
}
