import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isObject } from '../lib/is-object.ts';
import { type LoadOptions, WORKGROUPS_FOLDER } from './config-loader.ts';
import { hideSecrets } from './hide-secrets.ts';
import { parseYaml } from './parse-yaml.ts';
import { resolveReferences } from './resolve-references.ts';
import { listWorkgroupFiles } from './workgroup-files.ts';

/**
 * The texts of a configuration that `hideSecrets` hides, and the parts of addresses that are secret. Ids of
 * access keys too.
 */
export function findSecrets(config: unknown): string[] {
  return leavesOf(config, hideSecrets(config), '').flatMap(({ name, text, isHidden }) => {
    if (name === 'accessKeyId') return [text];
    if (!isHidden) return [];
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined) return [text];
    const path = name === 'url' && url.pathname.length > 1 ? [`${url.pathname}${url.search}`] : [];
    return [text, decodedText(url.password), decodedText(url.username), ...path].filter((one) => one !== '');
  });
}

/**
 * A part of an address without its percent-encoding. A part with a "%" that encodes nothing is returned
 * unchanged.
 */
function decodedText(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * The secrets that the files of a configuration and the environment give it, even if the configuration is not
 * valid.
 * @returns undefined if a file cannot be read, so that its secrets are not known
 */
export function readSecrets({ environment, ...options }: LoadOptions): string[] | undefined {
  const files = readFiles(options);
  if (files.some(({ value }) => value === undefined)) return undefined;
  const resolved = files.map(({ file, value }) =>
    resolveReferences(value, '', { environment, base: dirname(file), problems: [] }),
  );
  const fromEnvironment = {
    accessKeyId: environment.AWS_ACCESS_KEY_ID,
    secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
    sessionToken: environment.AWS_SESSION_TOKEN,
    redisUrls: [environment.WATTLINE_REDIS_URL, environment.WATTLINE_STREAM_REDIS_URL],
  };
  return findSecrets([...resolved, fromEnvironment]);
}

/**
 * The files of the configuration that contain secrets: files with a secret in their text, and files that a
 * setting names with `file:`. Files that cannot be read are left out.
 */
export function findSecretFiles(options: Pick<LoadOptions, 'path' | 'cwd'>): string[] {
  const found = readFiles(options).flatMap(({ file, value }) => {
    const leaves = leavesOf(value, hideSecrets(value), '');
    const isSecret = leaves.some(({ text, isHidden }) => isHidden && !text.includes('${'));
    return [...(isSecret ? [file] : []), ...referencesOf(value).map((to) => resolve(dirname(file), to))];
  });
  return [...new Set(found)].filter((file) => existsSync(file));
}

/**
 * The main file, if it exists, and the files of workgroups. The value of a file that cannot be read is
 * undefined.
 */
function readFiles({
  path,
  cwd,
}: Pick<LoadOptions, 'path' | 'cwd'>): Array<{ file: string; value: unknown }> {
  const main = resolve(cwd, path ?? 'wattline.yaml');
  const value = existsSync(main) ? readRaw(main) : {};
  const named =
    isObject(value) && typeof value.workgroupsDir === 'string' ? value.workgroupsDir : WORKGROUPS_FOLDER;
  const folder = resolve(dirname(main), named);
  const others = (listWorkgroupFiles(folder) ?? []).map((name) => join(folder, name));
  return [{ file: main, value }, ...others.map((file) => ({ file, value: readRaw(file) }))];
}

function readRaw(file: string): unknown {
  try {
    const parsed = parseYaml(readFileSync(file, 'utf8'));
    return 'value' in parsed ? (parsed.value ?? {}) : undefined;
  } catch {
    return undefined;
  }
}

interface Leaf {
  /** The name of the setting. */
  name: string;
  text: string;
  isHidden: boolean;
}

/** The texts of a value, with the same texts after `hideSecrets`. */
function leavesOf(value: unknown, hidden: unknown, name: string): Leaf[] {
  if (typeof value === 'string') return [{ name, text: value, isHidden: value !== hidden }];
  if (Array.isArray(value))
    return value.flatMap((item, index) => leavesOf(item, (hidden as unknown[])[index], name));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    leavesOf(item, (hidden as Record<string, unknown>)[key], key),
  );
}

/** The files after `file:`. */
function referencesOf(value: unknown): string[] {
  if (!isObject(value)) return Array.isArray(value) ? value.flatMap(referencesOf) : [];
  const keys = Object.keys(value);
  if (keys.length === 1 && typeof value.file === 'string') return [value.file];
  return Object.values(value).flatMap(referencesOf);
}
