import { addDays, formatInstant, type LocalDate, type UtcMs } from '../lib/time.ts';
import type { Generation, LakeReader } from '../report/lake/lake-reader.ts';
import type { OpenExport } from './attempt-run.ts';
import { type DayFingerprint, readFingerprints } from './day-fingerprints.ts';
import type { ChangedDay, ExportRun } from './export-ledger.ts';
import { openReport } from './open-report.ts';
import { questionOf } from './question-of.ts';

/** Older runs are not compared. */
const COMPARED_DAYS_MAX = 800;

/**
 * Compares exported files with the lake, and marks in the ledger the runs with energy that has changed since.
 * Removes the mark of a run that is correct again. Only the newest revision of a period is compared.
 * @returns the runs that have become outdated
 */
export async function markOutdated(
  open: OpenExport,
  lake: LakeReader,
  generation: Generation,
  nowMs: UtcMs,
  signal?: AbortSignal,
): Promise<ExportRun[]> {
  const { config, workgroup } = open;
  const question = questionOf(config, workgroup);
  const runs = newestRuns(await open.ledger.runs()).filter((run) => run.question === question);
  const lastDay = runs
    .map(({ endDay }) => endDay)
    .sort()
    .at(-1);
  if (lastDay === undefined) return [];
  const compared = runs.filter(({ startDay }) => startDay >= addDays(lastDay, -COMPARED_DAYS_MAX));
  const all = { startDay: compared.map((run) => run.startDay).sort()[0]!, endDay: lastDay };
  const query = { config, workgroup, period: { name: '', ...all } };
  const report = await openReport(query, { generation, lake, signal });
  const read = (range: typeof all) => {
    const select = report.rows(range);
    return lake.run(
      select.reads,
      async (connection) => (await readFingerprints(connection, select)).days,
      signal,
    );
  };
  const known = report.dependsOnRange ? undefined : await read(all);
  const became: ExportRun[] = [];
  for (const run of compared) {
    const changed = changedDays(run, known ?? (await read(run)));
    const { outdated: before, ...rest } = run;
    if (JSON.stringify(before?.days ?? []) === JSON.stringify(changed)) continue;
    const since = before?.since ?? formatInstant(nowMs);
    const outdated = { since, generation: generation.commit.sequence, days: changed };
    const marked = changed.length === 0 ? rest : { ...rest, outdated };
    await open.ledger.save(marked);
    if (!before && changed.length > 0) became.push(marked);
  }
  return became;
}

function newestRuns(runs: readonly ExportRun[]): ExportRun[] {
  const newest = new Map(runs.filter(({ state }) => state === 'delivered').map((run) => [run.period, run]));
  return [...newest.values()];
}

function changedDays({ startDay, endDay, file }: ExportRun, days: readonly DayFingerprint[]): ChangedDay[] {
  const before = new Map(file!.days.map((day) => [day.day, day]));
  const after = new Map(
    days.filter(({ day }) => day >= startDay && day <= endDay).map((day) => [day.day, day]),
  );
  const all: LocalDate[] = [...new Set([...before.keys(), ...after.keys()])].sort();
  return all.flatMap((day) => {
    const [was, is] = [before.get(day), after.get(day)];
    if (was?.hash === is?.hash && was?.rows === is?.rows) return [];
    return [{ day, beforeWh: was?.energyWh ?? null, afterWh: is?.energyWh ?? null }];
  });
}
