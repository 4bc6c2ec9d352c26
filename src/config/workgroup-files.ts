import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cannotBeRead, isMissing, type Problem } from '../lib/errors.ts';
import { inWords } from '../lib/input-words.ts';
import type { WorkgroupConfig } from './config.ts';
import { noteOldNames, renameInWorkgroup } from './old-names.ts';
import { parseYaml } from './parse-yaml.ts';
import { type Environment, resolveReferences } from './resolve-references.ts';
import { noteFile } from './workgroup-place.ts';
import { workgroupSchema } from './workgroup-settings.ts';
import { zodProblems } from './zod-problems.ts';

/** The workgroups of one file. */
export interface WorkgroupFile {
  /** As problems name it. */
  name: string;
  /** As the file has them, with references resolved. For checks between settings. */
  raw: readonly unknown[];
  /** The valid ones. */
  workgroups: readonly WorkgroupConfig[];
  /** Their paths begin with the name of the file. */
  problems: readonly Problem[];
}

interface WorkgroupFiles {
  /**
   * Reads all `*.yaml` and `*.yml` files of a folder, in the order of their names. Each has one workgroup or
   * a list of workgroups. Files that have not changed are not parsed again. Yields after each file that it
   * parses, so that a caller can let other work run.
   * @param shownAs the name of the folder in problems
   * @returns undefined if the folder does not exist
   */
  read(
    folder: string,
    shownAs: string,
    environment: Environment,
  ): Generator<undefined, WorkgroupFile[] | undefined>;
}

export function createWorkgroupFiles(): WorkgroupFiles {
  const known = new Map<string, { text: string; file: WorkgroupFile }>();

  return {
    *read(folder, shownAs, environment) {
      const names = listWorkgroupFiles(folder);
      if (names === undefined) return undefined;
      const files: WorkgroupFile[] = [];
      const unseen = new Set(known.keys());
      for (const name of names) {
        const path = join(folder, name);
        unseen.delete(path);
        const shownPath = `${shownAs}/${name}`;
        let text: string;
        try {
          text = readFileSync(path, 'utf8');
        } catch (error) {
          const problem = { path: shownPath, message: cannotBeRead(error) };
          files.push({ name: shownPath, raw: [], workgroups: [], problems: [problem] });
          continue;
        }
        const before = known.get(path);
        if (before?.text === text) {
          files.push(before.file);
          continue;
        }
        const { file, hasReferences } = parseFile(text, { shown: shownPath, folder, environment });
        // The target of a reference can change without a change of the file.
        if (hasReferences) known.delete(path);
        else known.set(path, { text, file });
        files.push(file);
        yield;
      }
      for (const path of unseen) known.delete(path);
      return files;
    },
  };
}

/**
 * The names of the files of a folder. Hidden files are left out, because editors keep copies in them.
 * @returns undefined if it does not exist
 */
export function listWorkgroupFiles(folder: string): string[] | undefined {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return entries
    .filter((entry) => !entry.isDirectory() && /^[^.].*\.ya?ml$/.test(entry.name))
    .map(({ name }) => name)
    .sort();
}

function parseFile(
  text: string,
  { shown, folder, environment }: { shown: string; folder: string; environment: Environment },
): { file: WorkgroupFile; hasReferences: boolean } {
  const problems: Problem[] = [];
  const at = (path: string) => (path === '' ? shown : `${shown}: ${path}`);
  const parsed = parseYaml(text);
  if ('problem' in parsed) {
    const problem = { path: shown, message: parsed.problem.message };
    return { file: { name: shown, raw: [], workgroups: [], problems: [problem] }, hasReferences: false };
  }
  const references = { environment, base: folder, problems: [] as Problem[], referenceCount: 0 };
  const value = resolveReferences(parsed.value, '', references);
  problems.push(...references.problems.map(({ path, message }) => ({ path: at(path), message })));
  const isList = Array.isArray(value);
  const raw: unknown[] = isList ? value : [value];
  const workgroups: WorkgroupConfig[] = [];
  // A missing reference is reported once, not again for the empty text in its place.
  const reported = new Set(references.problems.map(({ path }) => path));
  for (const [index, item] of raw.entries()) {
    const oldNames = renameInWorkgroup(item);
    const result = workgroupSchema.safeParse(item, inWords);
    if (result.success) {
      noteOldNames(result.data, oldNames);
      noteFile(result.data, isList ? `${shown}: ${index}` : `${shown}:`);
      workgroups.push(result.data);
      continue;
    }
    for (const { path, message } of zodProblems(result.error)) {
      const within = isList ? [index, path].filter((part) => part !== '').join('.') : path;
      if (!reported.has(within)) problems.push({ path: at(within), message });
    }
  }
  return { file: { name: shown, raw, workgroups, problems }, hasReferences: references.referenceCount > 0 };
}
