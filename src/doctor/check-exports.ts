import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { destinationOf, type ExportConfig } from '../config/export-settings.ts';
import { connectHomeAssistant } from '../home-assistant/connect-home-assistant.ts';
import { errorCode, isMissing, TerminalError } from '../lib/errors.ts';
import { openStore } from '../storage/open-store.ts';
import { askEach } from './ask-each.ts';
import { askReceiver } from './ask-receiver.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

interface Destination {
  to: ExportConfig['destination'];
  /** The exports that deliver there. */
  exports: string[];
}

/** The destinations of exports. Nothing is delivered. Mails have a check of their own. */
export function checkExports({ exports }: Pick<Config, 'exports'>): Check[] {
  const delivered = exports.filter(({ destination }) => destination.email === undefined);
  const groups = Map.groupBy(delivered, ({ destination }) => JSON.stringify(destination));
  const destinations = [...groups.values()].map((list) => ({
    to: list[0]!.destination,
    exports: list.map(({ id }) => id),
  }));
  if (destinations.length === 0) return [];
  const next = 'check the address and the network';
  return [
    {
      name: 'exports',
      run: (signal) => askEach(destinations, { kind: 'destinations', nameOf, next, ask }, signal),
    },
  ];
}

const NAMES_MAX = 5;

function nameOf({ exports }: Destination): string {
  const more = exports.length - NAMES_MAX;
  const names = exports.slice(0, NAMES_MAX).join(', ');
  return `${exports.length === 1 ? 'export' : 'exports'} ${names}${more > 0 ? ` and ${more} more` : ''}`;
}

async function ask(destination: Destination, signal: AbortSignal): Promise<Fact[]> {
  const { kind, to } = destinationOf({ destination: destination.to });
  const about = nameOf(destination);
  const tryIt = `wattline exports run ${destination.exports[0]}`;
  switch (kind) {
    case 'folder':
      return [await folderFact(to, about)];
    case 's3':
      return [await bucketFact(to, { about, tryIt }, signal)];
    case 'webhook':
      return askReceiver(to, { about, tryIt }, signal);
    case 'homeAssistant':
      return [await homeAssistantFact(to, about, signal)];
    case 'email':
      return [];
    default:
      return kind satisfies never;
  }
}

/** A folder that does not exist is made by the first delivery. */
async function folderFact(folder: string, about: string): Promise<Fact> {
  for (let path = folder; ; path = dirname(path)) {
    try {
      await access(path, constants.W_OK | constants.X_OK);
      return ok(`${about}: ${path === folder ? `${folder} can be written` : `${folder} can be made`}`);
    } catch (error) {
      if (isMissing(error) && dirname(path) !== path) continue;
      return problem(
        `${about}: ${path} cannot be written (${errorCode(error)})`,
        'let the user of the service write there, or choose another folder',
      );
    }
  }
}

/** Reads an object that is not there. A key that may only write is refused, although it can deliver. */
async function bucketFact(
  s3: NonNullable<ExportConfig['destination']['s3']>,
  { about, tryIt }: { about: string; tryIt: string },
  signal: AbortSignal,
): Promise<Fact> {
  const store = openStore({ kind: 's3', ...s3 });
  const answers = `${about}: ${store.address} answers and knows the key`;
  try {
    await store.get('wattline-doctor', { signal });
    return ok(`${answers}; "${tryIt}" shows whether it may write`);
  } catch (error) {
    if (!(error instanceof TerminalError) || error.code !== 'StorageForbidden') throw error;
    return warning(`${answers}, which may not read`, `"${tryIt}" shows whether it may write`);
  }
}

const userSchema = z.object({ is_admin: z.boolean() });

/** Signs in. */
async function homeAssistantFact(
  address: NonNullable<ExportConfig['destination']['homeAssistant']>,
  about: string,
  signal: AbortSignal,
): Promise<Fact> {
  const { host } = new URL(address.url);
  const homeAssistant = await connectHomeAssistant(address, signal);
  try {
    const user = userSchema.safeParse(await homeAssistant.call('auth/current_user', {}));
    return user.data?.is_admin === false
      ? problem(
          `${about}: the token of Home Assistant at ${host} is not that of an administrator`,
          'create a long-lived access token as an administrator',
        )
      : ok(`${about}: Home Assistant at ${host} accepts the token`);
  } finally {
    homeAssistant.close();
  }
}
