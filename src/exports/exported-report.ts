import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import type { Generation, LakeReader } from '../report/lake/lake-reader.ts';
import type { RowSelect } from '../report/rows/row-select.ts';
import type { DayRange } from '../report/site-report.ts';
import type { ExportPeriod } from './export-period.ts';

/** The question of an export, for days that have ended. */
export interface ExportQuery {
  config: ExportConfig;
  workgroup: WorkgroupConfig;
  period: ExportPeriod;
}

/** A report of one generation, for any of its days. */
export interface ExportedReport {
  rows(range: DayRange): RowSelect;
  /** The body of the matching endpoint, as UTF-8 in parts. */
  body(range: DayRange): Promise<Uint8Array[]>;
  /** The totals over all days, as text. */
  sums?(range: DayRange): Array<[name: string, value: string]>;
  /** True if the values of a day also depend on other days of the range. */
  dependsOnRange?: boolean;
}

export type OpenReport = (
  query: ExportQuery,
  context: { generation: Generation; lake: LakeReader; signal?: AbortSignal | undefined },
) => ExportedReport | Promise<ExportedReport>;
