import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import { hideSecrets } from '../config/hide-secrets.ts';
import type { Workgroups, WorkgroupsChange } from '../config/workgroups.ts';
import { shortenText } from '../lib/clip-text.ts';
import { replaceFile, sha256Hex } from '../lib/durable-files.ts';
import { readJsonFile } from '../lib/read-json-file.ts';

/**
 * The settings of the last start of a process, by path: each value as it may be shown, and a salted hash of
 * each secret.
 */
const startSchema = z.object({
  format: z.literal(1),
  salt: z.string(),
  // The program itself writes these values. A check of each one would take seconds with thousands of
  // workgroups.
  settings: z.custom<Record<string, string[]>>((value) => typeof value === 'object' && value !== null),
});
type Settings = Record<string, string[]>;

/** Each process has its own file, also with the same configuration. */
const PER_PROCESS: ReadonlySet<string> = new Set([
  'http.port',
  'http.streamPort',
  'http.reportPort',
  'metrics.port',
]);
const CHANGES_LISTED_MAX = 100;
const VALUE_CHARACTERS_MAX = 200;

/**
 * Records in the audit log of each workgroup which of its settings, and of the shared settings, have changed
 * since the last start of these roles. The first start records nothing.
 */
export function auditConfigChanges(
  config: Config,
  roles: readonly string[],
  audit: Pick<Audit, 'record'>,
): void {
  const path = startPath(config, roles);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const before = readStart(path);
  const salt = before?.salt ?? randomUUID();
  const settings = describe(config, salt);
  if (before) {
    const changes = changesBetween(before.settings, settings);
    if (changes.length === 0) return;
    const known = new Set(Object.keys(before.settings).flatMap(workgroupOf));
    const byWorkgroup = Map.groupBy(changes, ([changed]) => workgroupOf(changed)[0]);
    const shared = byWorkgroup.get(undefined) ?? [];
    for (const { id } of config.workgroups) {
      const own = known.has(id) ? [...shared, ...(byWorkgroup.get(id) ?? [])] : [added(id)];
      record(audit, id, roles, own);
    }
  }
  writeStart(path, salt, settings);
}

/**
 * Like `auditConfigChanges`, for the workgroups that a reload has added or changed, and their exports, and
 * for alerts.
 */
export function auditReload(options: {
  config: Config;
  change: WorkgroupsChange;
  workgroups: Pick<Workgroups, 'exportsOf'>;
  roles: readonly string[];
  audit: Pick<Audit, 'record'>;
}): void {
  const { config, change, workgroups, roles, audit } = options;
  const path = startPath(config, roles);
  const before = readStart(path);
  if (!before) return;
  const touched = [...change.added, ...change.changed.map(({ after }) => after)];
  const exportsOf = (id: string) => [...workgroups.exportsOf(id)];
  const now = describe(
    {
      workgroups: touched,
      exports: touched.flatMap(({ id }) => exportsOf(id)),
      ...(change.alerts && { alerts: config.alerts }),
    },
    before.salt,
  );
  const ids = new Set([...touched, ...change.removed].map(({ id }) => id));
  const exportIds = new Set(
    config.exports.filter(({ workgroup }) => !ids.has(workgroup)).map(({ id }) => id),
  );
  const isKept = (name: string) => {
    const [id] = workgroupOf(name);
    if (id !== undefined) return !ids.has(id);
    const [section, exportId = ''] = name.split('.');
    if (section === 'alerts') return !change.alerts;
    return section !== 'exports' || exportIds.has(exportId);
  };
  // With many workgroups most settings are kept, so only the others are compared.
  const settings: Settings = {};
  const touchedBefore: Settings = {};
  for (const [name, value] of Object.entries(before.settings))
    (isKept(name) ? settings : touchedBefore)[name] = value;
  Object.assign(settings, now);
  for (const { id } of change.added) record(audit, id, roles, [added(id)]);
  const changes = changesBetween(touchedBefore, now);
  const alertChanges = changes.filter(([name]) => name.startsWith(ALERTS_PREFIX));
  const changed = new Set(change.changed.map(({ after }) => after.id));
  for (const { id } of config.workgroups) {
    const own = exportsOf(id).map((one) => `exports.${one.id}.`);
    const isOwn = (name: string) =>
      workgroupOf(name)[0] === id || own.some((prefix) => name.startsWith(prefix));
    const seen = changed.has(id) ? changes.filter(([name]) => isOwn(name)) : [];
    record(audit, id, roles, [...seen, ...alertChanges]);
  }
  writeStart(path, before.salt, settings);
}

/** The paths of settings that differ, without settings that a reload applies. */
export function differentSettings(before: Config, after: Config): string[] {
  const fixed = ({ workgroups, exports, alerts, workgroupsDir, ...rest }: Config) => describe(rest, '');
  return changesBetween(fixed(before), fixed(after)).map(([path]) => path);
}

function record(
  audit: Pick<Audit, 'record'>,
  workgroupId: string,
  roles: readonly string[],
  changes: ReadonlyArray<[string, string]>,
): void {
  if (changes.length === 0) return;
  const listed = changes.slice(0, CHANGES_LISTED_MAX);
  audit.record(workgroupId, {
    action: 'configuration.changed',
    target: roles.join(', '),
    data: { ...Object.fromEntries(listed), more: changes.length - listed.length || undefined },
  });
}

function added(workgroupId: string): [string, string] {
  return [`workgroups.${workgroupId}`, 'added'];
}

function startPath({ dataDir }: Pick<Config, 'dataDir'>, roles: readonly string[]): string {
  return join(dataDir, 'audit', `started-${roles.join('-')}.json`);
}

function writeStart(path: string, salt: string, settings: Settings): void {
  replaceFile(path, JSON.stringify({ format: 1, salt, settings }));
}

const WORKGROUPS_PREFIX = 'workgroups.';
const ALERTS_PREFIX = 'alerts.';

/** The workgroup of a setting. Ids contain no dots. */
function workgroupOf(path: string): string[] {
  if (!path.startsWith(WORKGROUPS_PREFIX)) return [];
  const end = path.indexOf('.', WORKGROUPS_PREFIX.length);
  return [path.slice(WORKGROUPS_PREFIX.length, end < 0 ? undefined : end)];
}

function readStart(path: string): z.output<typeof startSchema> | undefined {
  return readJsonFile(path, startSchema);
}

function changesBetween(before: Settings, after: Settings): Array<[string, string]> {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return paths.flatMap((path): Array<[string, string]> => {
    const [from, to] = [before[path], after[path]];
    if (String(from) === String(to)) return [];
    return [[path, `${from?.[0] ?? 'not set'} -> ${to?.[0] ?? 'not set'}`]];
  });
}

function describe(config: object, salt: string): Settings {
  const hidden = new Map(leavesOf(hideSecrets(config)));
  return Object.fromEntries(
    leavesOf(config)
      .filter(([path]) => !PER_PROCESS.has(path))
      .map(([path, value]) => {
        const visible = hidden.get(path) ?? '';
        return [
          path,
          visible === value ? [comparable(value)] : [comparable(visible), sha256Hex(salt + value)],
        ];
      }),
  );
}

/** All values by path. Items with an id are named by it, so a new order is not a change. */
function leavesOf(value: unknown, path = ''): Array<[path: string, value: string]> {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [[path, String(value)]];
  return Object.entries(value).flatMap(([key, item]) => {
    const name = Array.isArray(value) && typeof item?.id === 'string' ? item.id : key;
    return leavesOf(item, path === '' ? name : `${path}.${name}`);
  });
}

/** A value that is too long is compared by its hash. */
function comparable(value: string): string {
  if (value.length <= VALUE_CHARACTERS_MAX) return value;
  return `${shortenText(value, VALUE_CHARACTERS_MAX + 1)} (${sha256Hex(value).slice(0, 8)})`;
}
