import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { keyFileOf, readKeys } from '../access/keys.ts';
import { openTokenFiles } from '../access/token-files.ts';
import type { Config } from '../config/config.ts';
import { errorCode, isMissing } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import type { Clock } from '../lib/time.ts';
import { listProcessFiles } from '../worker-rpc/process-file.ts';
import { endFacts } from './end-facts.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

/** The maximum number of tokens that are named. */
const TOKENS_NAMED_MAX = 5;

/** The keys and the tokens of the API. */
export function checkAccess({ dataDir, access }: Pick<Config, 'dataDir' | 'access'>, clock: Clock): Check {
  return {
    name: 'access',
    async run() {
      const keyFile = keyFileOf({ dataDir, jwksFile: access.jwksFile });
      if (!existsSync(keyFile)) return [noKeys(keyFile, access.jwksFile !== undefined)];
      const { signing } = await readKeys(keyFile);
      const keys = signing
        ? ok(`the keys in ${keyFile} can be used`)
        : ok(`the keys in ${keyFile} can check tokens; there is no private key to make new ones`);
      return [keys, ...tokenFacts(dataDir, clock.now())];
    },
  };
}

function noKeys(keyFile: string, isConfigured: boolean): Fact {
  return isConfigured
    ? problem(`the key file ${keyFile} does not exist`, 'correct access.jwksFile, or copy the file there')
    : ok(`there are no keys yet; the first start creates ${keyFile}`);
}

/** Valid tokens that end soon. Ended ones may have been replaced. */
function tokenFacts(dataDir: string, nowMs: number): Fact[] {
  const folder = join(dataDir, 'access');
  // Opening the files of a missing folder would create it.
  if (!existsSync(folder)) return [];
  const files = openTokenFiles(folder);
  const active = files
    .issued()
    .filter(({ tokenId, expiresAtMs }) => expiresAtMs > nowMs && files.revokedAt(tokenId) === undefined);
  const soon = active.flatMap(({ subject, expiresAtMs }) =>
    endFacts(`the token "${subject}"`, expiresAtMs, nowMs, {
      next: 'make a new one with "wattline token create", and give it to its user',
    }),
  );
  const more = soon.length - TOKENS_NAMED_MAX;
  return [
    ...soon.slice(0, TOKENS_NAMED_MAX),
    ...(more > 0
      ? [
          warning(
            formatCountOf(more, 'more token ends soon', 'more tokens end soon'),
            'see "wattline token list"',
          ),
        ]
      : []),
  ];
}

/**
 * Files with secrets that other users of this machine can read.
 * @param configFiles the files of the configuration that contain secrets
 */
export function checkSecrets(
  { dataDir, access }: Pick<Config, 'dataDir' | 'access'>,
  configFiles: readonly string[],
): Check {
  return {
    name: 'secrets',
    async run() {
      const files = [
        ...configFiles,
        keyFileOf({ dataDir, jwksFile: access.jwksFile }),
        ...listProcessFiles(dataDir).map(({ path }) => path),
      ];
      const facts = await Promise.all(files.map(fileFacts));
      const open = facts.flat();
      return open.length > 0 ? open : [ok('no other user of this machine can read the files with secrets')];
    },
  };
}

/** Read permission of the group alone is a usual way to give a service its configuration. */
async function fileFacts(path: string): Promise<Fact[]> {
  let mode: number;
  try {
    mode = (await stat(path)).mode & 0o777;
  } catch (error) {
    return isMissing(error) ? [] : [problem(`${path} cannot be looked at (${errorCode(error)})`)];
  }
  if ((mode & 0o007) === 0) return [];
  return [
    problem(
      `other users of this machine can read the secrets in ${path} (mode 0${mode.toString(8)})`,
      `chmod o= ${path}; if others have used this machine, replace the secrets too`,
    ),
  ];
}
