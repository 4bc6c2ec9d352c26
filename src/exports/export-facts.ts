import type { Generation } from '../report/lake/lake-reader.ts';
import type { ExportQuery } from './exported-report.ts';

/** The facts about a file. */
export type ExportFacts = ReturnType<typeof factsOf>;

export function factsOf({ config, workgroup, period }: ExportQuery, { commit }: Generation) {
  const { report, devices, meters, site, scenario, resolution } = config;
  return {
    report,
    workgroup: workgroup.id,
    startDate: period.startDay,
    endDate: period.endDay,
    timezone: workgroup.timezone,
    ...(devices && { devices }),
    ...(meters && { meters }),
    ...(site !== undefined && { site }),
    ...(scenario !== undefined && { scenario }),
    ...(resolution !== undefined && { resolution }),
    generation: commit.sequence,
  };
}
