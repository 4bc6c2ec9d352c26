import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ifMissing } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import { type Commit, commitSchema } from './commit-schema.ts';
import { flatPlace, listSequences } from './lake-commit.ts';
import { commitPath, fileKey, type LakePaths, leadingSequence } from './lake-layout.ts';

/** A generation that is in the lake. */
export interface RetainedGeneration {
  sequence: number;
  createdAtMs: UtcMs;
  /** Undefined if the warehouse cannot be restored to it. */
  snapshot: Commit['snapshot'];
}

/** The generations that need a file: from `first` to `last`, both included. */
export interface Lifetime {
  first: number;
  last: number;
}

/**
 * The facts about old generations that the owner of a lake remembers, so that retention does not read every
 * commit again. Commits never change, and a file that has left never comes back. So the first and the last
 * generation of a file show which generations need it.
 */
export interface Retained {
  /** Notes a new head. It costs the comparison of two lists of files in memory. */
  add(before: Commit | undefined, head: Commit): void;
  /** The generations, ascending. Reads the commits that are not known yet. */
  generations(paths: LakePaths, head: Commit): Promise<RetainedGeneration[]>;
  /**
   * The files that are not in the head, with the generations that need them. Bounded by the number of files
   * on the disk.
   */
  readonly former: Map<string, Lifetime>;
  forgetGeneration(sequence: number): void;
}

/** The part of a commit that is needed here. */
const outlineSchema = z.object({
  format: z.number(),
  createdAtMs: z.number(),
  files: z.array(z.object({ dataset: z.string(), folder: z.string(), name: z.string() })),
  snapshot: commitSchema.shape.snapshot,
});

type Outline = Pick<z.output<typeof outlineSchema>, 'createdAtMs' | 'snapshot'>;

export function createRetained(): Retained {
  const bySequence = new Map<number, RetainedGeneration>();
  const former = new Map<string, Lifetime>();
  let isLoaded = false;
  let isLoading = false;
  /** Heads that came while the commits were read. */
  const waiting: Array<[before: Commit | undefined, head: Commit]> = [];

  function remember(sequence: number, { createdAtMs, snapshot }: Outline): void {
    bySequence.set(sequence, { sequence, createdAtMs, snapshot });
  }

  async function load(paths: LakePaths, head: Commit): Promise<void> {
    const newest = new Set(head.files.map(fileKey));
    for (const sequence of await listSequences(paths)) {
      if (sequence === head.sequence) continue;
      const outline = await readOutline(paths, sequence);
      if (!outline) continue;
      remember(sequence, outline);
      for (const file of outline.files) {
        const key = fileKey(outline.format === 1 ? flatPlace(file) : file);
        if (!newest.has(key)) former.set(key, { first: firstGeneration(file.name), last: sequence });
      }
    }
    remember(head.sequence, head);
    isLoaded = true;
    for (const [before, next] of waiting.splice(0)) if (next.sequence > head.sequence) note(before, next);
  }

  function note(before: Commit | undefined, head: Commit): void {
    remember(head.sequence, head);
    const still = new Set(head.files);
    for (const file of before?.files ?? []) {
      if (!still.has(file))
        former.set(fileKey(file), { first: firstGeneration(file.name), last: before!.sequence });
    }
  }

  return {
    former,
    add(before, head) {
      if (isLoaded) note(before, head);
      else if (isLoading) waiting.push([before, head]);
    },
    async generations(paths, head) {
      if (!isLoaded) {
        isLoading = true;
        await load(paths, head).finally(() => {
          isLoading = false;
        });
      }
      return [...bySequence.values()].sort((a, b) => a.sequence - b.sequence);
    },
    forgetGeneration: (sequence) => void bySequence.delete(sequence),
  };
}

/** The name of a file begins with the generation that it was written for. */
function firstGeneration(name: string): number {
  return leadingSequence(name) ?? 0;
}

/** Checked less than by `readCommit`, because there can be hundreds of commits. */
async function readOutline(paths: LakePaths, sequence: number) {
  const text = await readFile(commitPath(paths, sequence), 'utf8').catch(ifMissing(undefined));
  return text === undefined ? undefined : outlineSchema.parse(JSON.parse(text));
}
