import type { Config, WorkgroupConfig } from '../src/config/config.ts';
import { parseCron } from '../src/lib/cron.ts';
import { MINUTE_MS } from '../src/lib/time.ts';
import type { AnySchedule, JobDefinition } from './stages.ts';

/** Writes and delivers the reports that are due, and tries again what has failed. */
export const exportJob: JobDefinition = {
  stage: 'export',
  lane: 'export',
  everyMs: () => MINUTE_MS,
  timeLimitMs: 30 * MINUTE_MS,
  run: (stages, workgroupId, signal) => stages.export(workgroupId, signal),
};

/**
 * When the exports of a workgroup are due: each by its own schedule, and all once a minute for what was missed or has failed. What a tick
 * has to do is told by the ledger, so that one that is missing or comes twice changes nothing.
 */
export function exportSchedules(
  { id: workgroupId, timezone }: Pick<WorkgroupConfig, 'id' | 'timezone'>,
  exports: Config['exports'],
  pipeline: Config['pipeline'],
): AnySchedule[] {
  const { stage, everyMs } = exportJob;
  const own = exports.filter(({ workgroup }) => workgroup === workgroupId);
  if (own.length === 0) return [];
  return [
    { stage, workgroupId, everyMs: everyMs(pipeline) },
    ...own.flatMap(({ id, schedule, timezone: timeZone = timezone }) => {
      const pattern = parseCron(schedule ?? '');
      if (typeof pattern === 'string') return [];
      return [{ stage, workgroupId, name: `export-${id}`, pattern: pattern.plain, timeZone }];
    }),
  ];
}
