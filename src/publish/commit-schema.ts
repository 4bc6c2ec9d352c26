import { z } from 'zod';
import { wholeWh } from '../contract/whole-wh.ts';
import { MEBIBYTE } from '../lib/units.ts';

const integerText = z.string().regex(/^-?\d+$/);

export const lakeFileSchema = z.object({
  dataset: z.string().regex(/^[a-z_]+$/),
  /** Its folder below `files/<dataset>/`: Hive partitions such as `month=2026-11`, or nothing. */
  folder: z.string().regex(/^(?:[a-z_]+=[^/]+(?:\/[a-z_]+=[^/]+)*)?$/),
  /** Its name in that folder. Each name is used once. */
  name: z.string().regex(/^[0-9a-f-]+\.parquet$/),
  /** The period of its rows. Empty if the dataset is not split by time. */
  period: z.string(),
  rows: z.number().int().min(0),
  bytes: z.number().int().min(0),
  sha256: z.string(),
  createdAtMs: z.number().int(),
  /** 0 for a published file. A merged file has one more than the files that it was made of. */
  level: z.number().int().min(0),
  /** The sum of energy_wh of its rows, in energy datasets. */
  energyWh: wholeWh.optional(),
  /** The fingerprint of a small dataset, to find changes. */
  fingerprint: z.string().optional(),
});

/** The newest snapshot of the warehouse whose state fits a commit. */
const snapshotSchema = z.object({
  /** Its key below the workgroup's lake. */
  pack: z.string().regex(/^snapshots\/\d{12}-[0-9a-f]+\.pack$/),
  bytes: z.number().int().min(0),
  sha256: z.string(),
  /** The size of the warehouse file that the pack restores. */
  fileBytes: z.number().int().min(0),
});

/** A file of a bundle is read into memory, in the worst case with all others of its bundle. */
export const BUNDLE_BYTES_MAX = 32 * MEBIBYTE;

/**
 * An object of a bucket that has several files, one after the other. Each file has its own SHA-256 in the
 * commit.
 */
const bundleSchema = z.object({
  key: z.string().regex(/^bundles\/\d{12}-[0-9a-f]+\.bundle$/),
  bytes: z.number().int().min(1).max(BUNDLE_BYTES_MAX),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** The files of the commit that are read from it. `offset` is the position of the first byte. */
  places: z.array(z.object({ name: z.string(), offset: z.number().int().min(0) })),
});

const common = {
  workgroupId: z.string(),
  sequence: z.number().int().min(1),
  createdAtMs: z.number().int(),
  /** The fencing epoch of the worker that wrote it. */
  ownerEpoch: integerText,
  /** The warehouse that it was published from. */
  warehouseCreatedAtMs: z.number().int(),
  /** The files have each message of the batches up to this one exactly once. */
  batchId: integerText,
  /** The last batch that intervals and days contain. */
  rolledUpBatchId: integerText,
  checkpoints: z.array(
    z.object({
      origin: z.string(),
      logEpoch: z.string().nullable(),
      nextOffset: integerText,
      lastStoreTimeMs: z.number().int().nullable(),
    }),
  ),
  /** Sums over the files below, for checks. */
  totals: z.object({ messages: z.number().int(), dailyEnergyWh: wholeWh }),
  files: z.array(lakeFileSchema),
};

export const commitSchema = z.object({
  format: z.literal(2),
  /** Random. It shows who has created a commit, and which warehouse belongs to it. */
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  /** If the commit was written together with a snapshot. */
  snapshot: snapshotSchema.optional(),
  /**
   * In a claim of a replica that has no generation yet: the owner has published. Readers wait for the first
   * copy.
   */
  hasPublished: z.boolean().optional(),
  /** In a commit of a bucket: where the files are that are not separate objects. */
  bundles: z.array(bundleSchema).optional(),
  ...common,
});

/** The format of Wattline before commits had nonces. Its files are in `files/<dataset>/<name>`. */
export const formatOneSchema = z.object({ format: z.literal(1), ...common });

/** One immutable file of the lake. */
export type LakeFile = z.output<typeof lakeFileSchema>;
export type Bundle = z.output<typeof bundleSchema>;
/** One generation: a consistent list of immutable files. */
export type Commit = z.output<typeof commitSchema>;
export type FormatOneCommit = z.output<typeof formatOneSchema>;
/** A commit as it can be on disk. The owner of a lake migrates it to the newest format. */
export type StoredCommit = Commit | FormatOneCommit;

export function isFormatOne(commit: StoredCommit): commit is FormatOneCommit {
  return commit.format === 1;
}
