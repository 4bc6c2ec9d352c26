import type { SqlParameters } from '../warehouse/query.ts';
import type { Commit, LakeFile } from './commit-schema.ts';
import type { DatasetName } from './datasets.ts';
import { type Period, periodBounds } from './lake-period.ts';

/** A file to write: its rows, and their expected sums. */
export interface Piece {
  dataset: DatasetName;
  folder: string;
  period: Period | '';
  parameters: SqlParameters;
  /** Counted in the same snapshot. 0 means that the old files are removed without a new one. */
  rows: number;
  energyWh?: number;
  fingerprint?: string;
  replaces: readonly LakeFile[];
}

/** A period as the parameters of a statement. */
export function window(period: Period): { start_ms: number; end_ms: number } {
  const { startMs, endMs } = periodBounds(period);
  return { start_ms: startMs, end_ms: endMs };
}

/** The files of a dataset in a generation. Empty without a generation. */
export function filesByPeriod(head: Commit | undefined, dataset: DatasetName): Map<Period, LakeFile[]> {
  const files = head?.files.filter((file) => file.dataset === dataset) ?? [];
  return Map.groupBy(files, ({ period }) => period);
}
