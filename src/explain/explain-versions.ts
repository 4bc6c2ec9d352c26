import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { formatInstantOrNull } from '../lib/time.ts';
import { type VersionCause, versionCauses } from '../rollup/version-causes.ts';
import { query } from '../warehouse/query.ts';
import { percentText } from './explain-series.ts';
import { instant, plainNumber } from './explain-words.ts';
import type { Day, Span } from './explained-day.ts';
import type { ExplainedCorrection, Version, VersionBatch } from './explained-schema.ts';

type VersionRow = {
  energy_wh: number | null;
  method: EnergyMethod | null;
  flags: number | null;
  coverage: number | null;
  version: number;
  computed_at_ms: number;
  batch_id: bigint;
  /** Null for versions of releases that did not store it. */
  causes: { items: VersionCause[] } | null;
};
type BatchRow = {
  batch_id: bigint;
  origin: string | null;
  landed_at_ms: number | null;
  readings: number;
  late_readings: number;
  from_ms: number;
  to_ms: number;
  touches_day: boolean;
};

/** The causes that an explanation shows by their batches. */
const bringsReadings: ReadonlySet<VersionCause> = new Set(['stream', 'import', 'backfill']);

/** The maximum number of batches that are listed for each version. */
const BATCHES_MAX = 20;

/** Every version of a day, with its differences from the version before and the batches between them. */
export async function readVersions(
  connection: DuckDBConnection,
  key: { device: string; source: string },
  day: Day,
  bracket: Span,
  {
    flagNames,
    corrections,
  }: { flagNames: (bits: number) => string[]; corrections: readonly ExplainedCorrection[] },
): Promise<Version[]> {
  const rows = await query<VersionRow>(connection, 'explain/find_versions', { ...key, day: day.day });
  const versions: Version[] = [];
  for (const [index, row] of rows.entries()) {
    const before = rows[index - 1];
    const batches = await readBatches(connection, key, day, bracket, { before, row });
    const flags = flagNames(row.flags ?? 0);
    const changes = before ? changesOf(before, row, flagNames) : [];
    versions.push({
      version: row.version,
      energyWh: row.energy_wh,
      method: row.method,
      flags,
      coverage: row.coverage,
      computedAt: instant(row.computed_at_ms),
      batch: String(row.batch_id),
      changes,
      batches: batches.length,
      causes: batches.slice(0, BATCHES_MAX),
      text:
        correctionSentence(corrections, row, changes) ??
        sentence(batches, row, changes, before !== undefined),
    });
  }
  return versions;
}

async function readBatches(
  connection: DuckDBConnection,
  key: { device: string; source: string },
  day: Day,
  bracket: Span,
  { before, row }: { before: VersionRow | undefined; row: VersionRow },
): Promise<VersionBatch[]> {
  // Before the first version only the readings around the day matter.
  const range = before ? { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER } : bracket;
  const rows = await query<BatchRow>(connection, 'explain/find_version_batches', {
    ...key,
    after_batch: before?.batch_id ?? -1n,
    upto_batch: row.batch_id,
    low_ms: BigInt(bracket.fromMs),
    high_ms: BigInt(bracket.toMs),
    from_ms: BigInt(range.fromMs),
    to_ms: BigInt(range.toMs),
    end_ms: BigInt(day.endMs),
  });
  const batches = rows.map(
    (batchRow): VersionBatch => ({
      batch: String(batchRow.batch_id),
      origin: batchRow.origin,
      landedAt: formatInstantOrNull(batchRow.landed_at_ms),
      readings: batchRow.readings,
      lateReadings: batchRow.late_readings,
      from: instant(batchRow.from_ms),
      to: instant(batchRow.to_ms),
      touchesDay: batchRow.touches_day,
    }),
  );
  return batches.some(({ touchesDay }) => touchesDay)
    ? batches.filter(({ touchesDay }) => touchesDay)
    : batches;
}

function changesOf(before: VersionRow, row: VersionRow, flagNames: (bits: number) => string[]): string[] {
  const changes: string[] = [];
  const energyText = (value: number | null) => (value === null ? 'none' : `${plainNumber(value)} Wh`);
  if (before.energy_wh !== row.energy_wh)
    changes.push(`energy ${energyText(before.energy_wh)} -> ${energyText(row.energy_wh)}`);
  if (before.method !== row.method)
    changes.push(`method ${before.method ?? 'none'} -> ${row.method ?? 'none'}`);
  const [old, now] = [flagNames(before.flags ?? 0), flagNames(row.flags ?? 0)];
  for (const flag of now) if (!old.includes(flag)) changes.push(`flag ${flag} came`);
  for (const flag of old) if (!now.includes(flag)) changes.push(`flag ${flag} went`);
  const share = (value: number | null) => (value === null ? 'none' : percentText(value));
  if (before.coverage !== row.coverage)
    changes.push(`coverage ${share(before.coverage)} -> ${share(row.coverage)}`);
  return changes;
}

/** A correction is computed when it is stored, so its versions have its time. */
function correctionSentence(
  corrections: readonly ExplainedCorrection[],
  { computed_at_ms, causes }: VersionRow,
  changes: readonly string[],
): string | undefined {
  const { id, author, reason } = corrections.find(({ at }) => at === instant(computed_at_ms)) ?? {};
  const what = changes.length > 0 ? `${changes.join('; ')}: ` : '';
  if (id !== undefined) return `${what}correction ${id} by ${author}: ${reason}`;
  return causes === null || !causes.items.includes('correction')
    ? undefined
    : `${what}a correction of another day or source`;
}

function sentence(
  batches: readonly VersionBatch[],
  { causes }: VersionRow,
  changes: readonly string[],
  isLater: boolean,
): string {
  const readings = batches.reduce((sum, one) => sum + one.readings, 0);
  const late = batches.reduce((sum, one) => sum + one.lateReadings, 0);
  const origins = [...new Set(batches.map(({ origin }) => origin ?? 'a batch that is no longer known'))].join(
    ', ',
  );
  const what = changes.length > 0 ? `${changes.join('; ')}: ` : '';
  const readingsSentence = `${formatCountOf(readings, 'reading')} in ${batches.length === 1 ? `batch ${batches[0]!.batch}` : formatCountOf(batches.length, 'batch', 'batches')} from ${origins}`;
  if (!isLater) return batches.length === 0 ? `${what}nothing is known of its readings` : readingsSentence;
  const others =
    causes?.items.filter((cause) => !bringsReadings.has(cause)).map((cause) => versionCauses[cause]) ?? [];
  if (batches.length === 0) {
    const why =
      others.length > 0 ? others.join(', ') : 'the settings, or limits that are learnt, had changed';
    return `${what}no reading came; ${why}`;
  }
  const also = others.length > 0 ? `; ${others.join(', ')}` : '';
  if (!batches[0]!.touchesDay)
    return `${what}${readingsSentence}, not of this day, changed what had happened before${also}`;
  if (late === 0) return `${what}${readingsSentence}${also}`;
  return `${what}${readingsSentence}, ${late < readings ? `of which ${plainNumber(late)} for this day, after it was over` : 'after the day was over'}${also}`;
}
