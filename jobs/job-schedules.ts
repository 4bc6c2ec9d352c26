import type { Config, WorkgroupConfig } from '../src/config/config.ts';
import { parseCron } from '../src/lib/cron.ts';
import type { JobSchedule } from './stages.ts';

/**
 * The jobs that are due at a time of day: each export by its own pattern. They wake workgroups that
 * hibernate. The ledger of the exports decides which files are made, so a missed or repeated job changes
 * nothing. No job runs at midnight: a worker sees the new day when it assesses hibernating workgroups.
 */
export function jobSchedules({
  workgroups,
  exports,
}: {
  workgroups: readonly Pick<WorkgroupConfig, 'id' | 'timezone'>[];
} & Pick<Config, 'exports'>): JobSchedule[] {
  return exports.flatMap(({ id, workgroup: workgroupId, schedule, timezone }) => {
    const workgroup = workgroups.find((one) => one.id === workgroupId);
    const pattern = parseCron(schedule ?? '');
    if (workgroup === undefined || typeof pattern === 'string') return [];
    const job = { stage: 'export' as const, workgroupId };
    const timeZone = timezone ?? workgroup.timezone;
    return [{ key: `export:${workgroupId}:${id}`, pattern: pattern.plain, timeZone, job }];
  });
}
