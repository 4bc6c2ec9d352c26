import type { SqlParameters } from '../warehouse/query.ts';
import type { DatasetName } from './datasets.ts';
import type { Commit, LakeFile } from './lake-commit.ts';
import { type Period, periodBounds } from './lake-period.ts';

/** A file that has to be written: which rows it takes, and what they must come to. */
export interface Piece {
  dataset: DatasetName;
  folder: string;
  period: Period | '';
  parameters: SqlParameters;
  /** Counted in the same snapshot; 0 means that the files it replaces go and none comes. */
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

/** The files of a dataset in a generation; none where there is none yet. */
export function filesByPeriod(head: Commit | undefined, dataset: DatasetName): Map<Period, LakeFile[]> {
  const files = head?.files.filter((file) => file.dataset === dataset) ?? [];
  return Map.groupBy(files, ({ period }) => period);
}
