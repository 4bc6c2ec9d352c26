import type { UtcMs } from '../lib/time.ts';
import type { DatasetName } from './datasets.ts';

export interface ViewColumn {
  name: string;
  type: string;
  comment: string;
  /** The expression for the column, if it is not a column of the files. */
  select?: string;
}

/** The FROM clause for the files of a dataset. Undefined if it has no files. */
export type FilesOf = (dataset: DatasetName) => string | undefined;

export interface View {
  name: string;
  dataset: DatasetName;
  comment: string;
  where?: string;
  /**
   * The query of the view, if it does not select only from its dataset.
   * @returns undefined if there is nothing to select from
   */
  from?: (files: FilesOf, publishedMs: UtcMs) => string | undefined;
  columns: readonly ViewColumn[];
}
