import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import { hideSecrets } from '../config/hide-secrets.ts';
import { replaceFile } from '../lib/durable-files.ts';

/**
 * The settings of the last start of a process, by path: each value as it may be shown, and a salted hash of each secret.
 */
const startSchema = z.object({
  format: z.literal(1),
  salt: z.string(),
  settings: z.record(z.string(), z.array(z.string()).min(1).max(2)),
});
type Settings = Record<string, string[]>;

/** Each process has its own file, also with the same configuration. */
const PER_PROCESS: ReadonlySet<string> = new Set(['http.port', 'http.streamPort', 'http.reportPort']);
const CHANGES_LISTED_MAX = 100;
const VALUE_CHARACTERS_MAX = 200;

/**
 * Records in the audit log of each workgroup which of its settings, and of the shared settings, have changed since the last start of these
 * roles. The first start records nothing.
 */
export function auditConfigChanges(config: Config, roles: readonly string[], audit: Audit): void {
  const folder = join(config.dataDir, 'audit');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `started-${roles.join('-')}.json`);
  const before = readStart(path);
  const salt = before?.salt ?? randomUUID();
  const settings = describe(config, salt);
  if (before) {
    const changes = changesBetween(before.settings, settings);
    if (changes.length === 0) return;
    for (const { id } of config.workgroups) {
      const seen = changes.filter(([changed]) => !changed.startsWith('workgroups.') || isOf(id, changed));
      if (seen.length === 0) continue;
      const isNew = !Object.keys(before.settings).some((name) => isOf(id, name));
      const own: Array<[string, string]> = isNew ? [[`workgroups.${id}`, 'added']] : seen;
      const listed = own.slice(0, CHANGES_LISTED_MAX);
      audit.record(id, {
        action: 'configuration.changed',
        target: roles.join(', '),
        data: { ...Object.fromEntries(listed), more: own.length - listed.length || undefined },
      });
    }
  }
  replaceFile(path, JSON.stringify({ format: 1, salt, settings }));
}

function isOf(workgroupId: string, path: string): boolean {
  return path.startsWith(`workgroups.${workgroupId}.`);
}

function readStart(path: string): z.output<typeof startSchema> | undefined {
  try {
    return startSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function changesBetween(before: Settings, after: Settings): Array<[string, string]> {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return paths.flatMap((path): Array<[string, string]> => {
    const [from, to] = [before[path], after[path]];
    if (String(from) === String(to)) return [];
    return [[path, `${from?.[0] ?? 'not set'} -> ${to?.[0] ?? 'not set'}`]];
  });
}

function describe(config: Config, salt: string): Settings {
  const shown = new Map(leavesOf(hideSecrets(config)));
  return Object.fromEntries(
    leavesOf(config)
      .filter(([path]) => !PER_PROCESS.has(path))
      .map(([path, value]) => {
        const visible = shown.get(path) ?? '';
        return [path, visible === value ? [clip(value)] : [clip(visible), hashOf(salt + value)]];
      }),
  );
}

/** All values by path. Items with an id are named by it, so a new order is no change. */
function leavesOf(value: unknown, path = ''): Array<[path: string, value: string]> {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [[path, String(value)]];
  return Object.entries(value).flatMap(([key, item]) => {
    const name = Array.isArray(value) && typeof item?.id === 'string' ? item.id : key;
    return leavesOf(item, path === '' ? name : `${path}.${name}`);
  });
}

/** A value that is too long is compared by its hash. */
function clip(value: string): string {
  if (value.length <= VALUE_CHARACTERS_MAX) return value;
  return `${value.slice(0, VALUE_CHARACTERS_MAX)}… (${hashOf(value).slice(0, 8)})`;
}

function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}
