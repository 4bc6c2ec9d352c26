import { type Command, InvalidArgumentError } from 'commander';
import { createAccess, type ListedToken } from '../../access/access.ts';
import { type Permission, permissions } from '../../access/grant.ts';
import { createAudit } from '../../audit/audit.ts';
import { localActor } from '../../audit/local-actor.ts';
import type { Config } from '../../config/config.ts';
import { localUrl } from '../../http/local-url.ts';
import { errorMessage, InputError, type Problem } from '../../lib/errors.ts';
import { nearest } from '../../lib/input-words.ts';
import { silentLogger } from '../../lib/logger.ts';
import { formatInstant, formatMinute, systemClock, type UtcMs } from '../../lib/time.ts';
import { parseQuantity } from '../../lib/units.ts';
import { requireDataDir } from '../../service/require-data-dir.ts';
import type { Terminal } from '../../service/terminal.ts';
import { readConfig } from '../read-config.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData, printNote } from '../terminal/output.ts';

export function addTokenCommand(program: Command, terminal: Terminal): void {
  const token = program.command('token').description('create, list and revoke API tokens');
  token
    .command('create')
    .description('create a token and print it; it is shown only once')
    .argument('<subject>', 'the person or program that uses the token')
    .requiredOption(
      '-w, --workgroup <id>',
      'a workgroup that the token gives access to (can be repeated)',
      collect,
    )
    .option(
      '-p, --permission <name>',
      `one of ${permissions.join(', ')} (can be repeated)`,
      collectPermission,
    )
    .option('-g, --device-group <name>', 'only devices of this group (can be repeated)', collect)
    .option(
      '-e, --expires <duration>',
      'how long it is valid, such as 30d (default: access.tokenLifetime)',
      duration,
    )
    .option('-l, --link', 'also print a link that opens the web page with the token')
    .addHelpText('after', createHelp)
    .action((subject: string, options: CreateOptions, command: Command) =>
      create(subject, options, command, terminal),
    );
  token
    .command('list')
    .description('list the tokens of this data folder, newest first')
    .addHelpText('after', listHelp)
    .action((_options, command: Command) => list(command, terminal));
  token
    .command('revoke')
    .description('revoke a token at once')
    .argument('<token-id>', 'the id of the token; see "wattline token list"')
    .addHelpText('after', revokeHelp)
    .action((tokenId: string, _options, command: Command) => revoke(tokenId, command, terminal));
}

interface CreateOptions {
  workgroup: string[];
  permission?: Permission[];
  deviceGroup?: string[];
  expires?: number;
  link?: boolean;
}

async function create(
  subject: string,
  options: CreateOptions,
  command: Command,
  terminal: Terminal,
): Promise<void> {
  const config = readConfig(command, terminal);
  const problems = problemsOf(options, config);
  if (problems.length > 0) throw new InputError('the token', problems);
  const scope = {
    permissions: options.permission ?? (['search:read'] satisfies Permission[]),
    ...(options.deviceGroup && { deviceGroups: options.deviceGroup }),
  };
  const access = await openAccess(config);
  const { token, issuedAtMs, expiresAtMs, ...rest } = await access.issue({
    subject,
    scopes: Object.fromEntries(options.workgroup.map((id) => [id, scope])),
    lifetimeMs: options.expires ?? config.access.tokenLifetime,
  });
  const times = { issuedAt: formatInstant(issuedAtMs), expiresAt: formatInstant(expiresAtMs) };
  printData(command, terminal, { token, ...rest, ...times }, () => `${token}\n`);
  // On standard error, because standard output contains only the token.
  if (options.link)
    printNote(command, terminal, `${localUrl(config.http.host, config.http.port)}/#token=${token}`);
  const allowed = scopesInWords(rest.scopes);
  printNote(command, terminal, `token ${rest.tokenId} for ${subject}: ${allowed}; until ${times.expiresAt}`);
}

/**
 * Checks that workgroups and groups exist, because the token would be useless and the reason hard to find.
 */
function problemsOf(options: CreateOptions, config: Config): Problem[] {
  return options.workgroup.flatMap((id) => {
    const workgroup = config.workgroups.find((each) => each.id === id);
    if (!workgroup) {
      const names = config.workgroups.map((each) => each.id);
      const near = nearest(id, names);
      const known = names.length === 0 ? 'no workgroup is configured' : `configured are ${names.join(', ')}`;
      const message = `"${id}" is not configured; ${near === undefined ? '' : `is it ${near}? `}${known}`;
      return [{ path: '--workgroup', message }];
    }
    return (options.deviceGroup ?? [])
      .filter((group) => !Object.hasOwn(workgroup.deviceGroups, group))
      .map((group) => ({
        path: '--device-group',
        message: `"${group}" is not a device group of workgroup "${id}"; ${groupsText(Object.keys(workgroup.deviceGroups))}`,
      }));
  });
}

function groupsText(groups: readonly string[]): string {
  return groups.length === 0 ? 'it has none' : `its groups are ${groups.join(', ')}`;
}

async function list(command: Command, terminal: Terminal): Promise<void> {
  const access = await openAccess(readConfig(command, terminal));
  const tokens = access.list();
  const data = tokens.map(({ issuedAtMs, expiresAtMs, revokedAtMs, ...rest }) => ({
    ...rest,
    issuedAt: formatInstant(issuedAtMs),
    expiresAt: formatInstant(expiresAtMs),
    ...(revokedAtMs !== undefined && { revokedAt: formatInstant(revokedAtMs) }),
  }));
  if (tokens.length === 0) printNote(command, terminal, 'this data folder has no tokens');
  printData(command, terminal, data, (columnsMax) =>
    tokens.length === 0 ? '' : formatTable(tokenColumns, tokens, columnsMax),
  );
}

const tokenColumns = [
  { title: 'Token id', value: ({ tokenId }: ListedToken) => tokenId },
  { title: 'State', value: ({ state }: ListedToken) => state },
  {
    title: 'Expires (UTC)',
    value: ({ expiresAtMs }: ListedToken) => formatMinute(expiresAtMs),
  },
  { title: 'Subject', value: ({ subject }: ListedToken) => subject },
  { title: 'Allows', value: ({ scopes }: ListedToken) => scopesInWords(scopes) },
];

async function revoke(tokenId: string, command: Command, terminal: Terminal): Promise<void> {
  // Refuses a token in place of its id, because the token would stay valid.
  if (!/^[\w-]{1,128}$/.test(tokenId))
    throw new InputError('the token', [
      { path: 'token-id', message: 'is not the id of a token; see "wattline token list"' },
    ]);
  const config = readConfig(command, terminal);
  const access = await openAccess(config);
  const { known, alreadyRevoked } = access.revoke(tokenId);
  if (!known)
    printNote(
      command,
      terminal,
      `this data folder has no token with the id ${tokenId}; the id is revoked anyway`,
    );
  const unreached = await tellOthers(config, tokenId);
  if (unreached !== undefined)
    printNote(
      command,
      terminal,
      `other machines do not know it yet (${unreached}); a running process of this data folder tells them as soon as it can, or run the same command again`,
    );
  const outcome = alreadyRevoked ? 'was already revoked' : 'is revoked';
  printData(command, terminal, { tokenId, known, alreadyRevoked }, () => `token ${tokenId} ${outcome}\n`);
}

/**
 * Informs the other machines at once, through Redis and through the bucket.
 * @returns the reason if they cannot be informed now
 */
async function tellOthers(config: Config, tokenId: string): Promise<string | undefined> {
  const revokedAtMs = systemClock.now();
  const results = await Promise.allSettled([
    config.queue.backend === 'redis' && tellByRedis(config, tokenId, revokedAtMs),
    config.storage.s3 && tellByBucket(config, tokenId, revokedAtMs),
  ]);
  const reasons = results.flatMap((one) => (one.status === 'rejected' ? [errorMessage(one.reason)] : []));
  return reasons.length > 0 ? reasons.join('; ') : undefined;
}

async function tellByRedis(config: Config, tokenId: string, revokedAtMs: UtcMs): Promise<void> {
  const { openQueueRedis } = await import('../../service/open-control.ts');
  const { tellRevocation } = await import('../../access/shared-revocations.ts');
  const redis = await openQueueRedis(config, silentLogger);
  await tellRevocation(redis, tokenId, revokedAtMs).finally(redis.close);
}

async function tellByBucket({ storage }: Config, tokenId: string, revokedAtMs: UtcMs): Promise<void> {
  const { storeRevocation } = await import('../../access/store-revocations.ts');
  const { serviceStore } = await import('../../storage/workgroup-store.ts');
  await storeRevocation(serviceStore(storage)!, tokenId, revokedAtMs);
}

function openAccess({ dataDir, access: { jwksFile, issuer } }: Config) {
  requireDataDir(dataDir);
  const audit = createAudit({ dataDir, actor: localActor() });
  return createAccess({ dataDir, jwksFile, issuer, clock: systemClock, audit });
}

function scopesInWords(scopes: ListedToken['scopes']): string {
  const each = Object.entries(scopes).map(([workgroup, { permissions: allowed, deviceGroups }]) => {
    const groups = deviceGroups ? ` (only ${deviceGroups.join(', ')})` : '';
    return `${allowed.join(' ')} in ${workgroup}${groups}`;
  });
  return each.join('; ');
}

function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

function collectPermission(value: string, previous: Permission[] | undefined): Permission[] {
  const permission = permissions.find((name) => name === value);
  if (!permission) throw new InvalidArgumentError(`Use one of ${permissions.join(', ')}.`);
  return [...(previous ?? []), permission];
}

function duration(value: string): number {
  const ms = parseQuantity('duration', value);
  if (ms === undefined || ms < 1_000) throw new InvalidArgumentError('Use a duration such as 12h or 30d.');
  return Math.round(ms);
}

const createHelp = `
Standard output contains only the token, so it can be stored in a variable or a file.

Examples:
  wattline token create dashboard --workgroup home
  wattline token create gateway -w home -p data:write --expires 365d > gateway.token
  wattline token create anna -w home --link
  wattline token create tenant -w home -g flat-3 --json | jq -r .tokenId`;

const listHelp = `
Examples:
  wattline token list
  wattline token list --json | jq -r '.[] | select(.state == "active") | .tokenId'`;

const revokeHelp = `
Example:
  wattline token revoke 5e1d0c52-4c0f-4c6e-9d0e-0f6f4d5d7a31`;
