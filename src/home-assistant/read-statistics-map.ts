import { z } from 'zod';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { zodProblems } from '../config/zod-problems.ts';
import { nameSchema } from '../contract/messages.ts';
import { InputError, type Problem } from '../lib/errors.ts';
import type { ChosenStatistic } from './fetch-statistics.ts';
import type { Statistic } from './list-statistics.ts';

const STATISTICS_MAX = 1_000;

const mapSchema = z
  .record(z.string(), z.strictObject({ device: z.string().min(1), source: nameSchema.default('default') }))
  .refine((map) => Object.keys(map).length >= 1 && Object.keys(map).length <= STATISTICS_MAX, {
    error: `must name 1 to ${STATISTICS_MAX} statistics`,
  });

/**
 * Reads which statistic becomes which device and source.
 * @throws InputError with all problems
 */
export function readStatisticsMap(
  what: string,
  content: unknown,
  known: readonly Statistic[],
  workgroup: Pick<WorkgroupConfig, 'devices'>,
): ChosenStatistic[] {
  const parsed = mapSchema.safeParse(content);
  if (!parsed.success) throw new InputError(what, zodProblems(parsed.error));
  const problems: Problem[] = [];
  const used = new Set<string>();
  const chosen = Object.entries(parsed.data).flatMap(([id, target]): ChosenStatistic[] => {
    const statistic = known.find((one) => one.id === id);
    const device = findDevice(workgroup, target.device);
    if (!statistic)
      problems.push({ path: id, message: 'is not a statistic with energy or power; --list shows them' });
    if (device === undefined)
      problems.push({ path: id, message: `"${target.device}" is neither a configured device nor a UUID` });
    if (!statistic || device === undefined) return [];
    const key = `${statistic.kind} ${device} ${target.source}`;
    if (used.has(key))
      problems.push({ path: id, message: 'has the device and the source of another statistic' });
    used.add(key);
    return [{ ...statistic, device, source: target.source }];
  });
  if (problems.length > 0) throw new InputError(what, problems);
  return chosen;
}
