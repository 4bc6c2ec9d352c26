import type { UtcMs } from '../lib/time.ts';
import type { DatasetName } from './datasets.ts';

export interface ViewColumn {
  name: string;
  type: string;
  comment: string;
  /** How it is made from the columns of the files, where it is not one of them. */
  select?: string;
}

/** What reads the files of a dataset; undefined where it has none. */
export type FilesOf = (dataset: DatasetName) => string | undefined;

export interface View {
  name: string;
  dataset: DatasetName;
  /** The files below a generation's folder. */
  glob: string;
  /** Whether folders name columns, so that a filter on them leaves whole folders unread. */
  hive: boolean;
  comment: string;
  where?: string;
  /** What it selects from, where that is not the files of its dataset alone. @returns undefined where there is nothing to select from */
  from?: (files: FilesOf, publishedMs: UtcMs) => string | undefined;
  columns: readonly ViewColumn[];
}
