import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { EnergyStream } from '../config/energy-stream.ts';
import { jsonPointer } from '../lib/json-pointer.ts';
import { unitFactor, unitTable } from '../lib/units.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query } from '../warehouse/query.ts';
import { forgetTemporaryTables } from './rollup-context.ts';
import { ruleConstants } from './rule-constants.ts';
import { ruleMacros, withConstants } from './rule-macros.ts';

/**
 * The version of the energy rules. Raise it with every change that gives the same readings another energy.
 * The next roll-up of every warehouse then learns its limits again, computes all its days again, and gives
 * changed days the cause `rules`.
 * 2: the first quarter of an hour of a new warehouse is no longer counted more than once.
 * 3: limits are learnt for each day, from that day and the 27 days before it.
 * 4: new rules for the beginning of a register, standstills, changes of unit and days that other methods
 *    prove wrong; stored readings beyond the range of their method are rejected.
 */
const RULES_VERSION = 4;

/**
 * Which settings have changed, so that days are computed again: `configuration` (streams, or the sources of
 * devices), `zone` (the time zone, even if other settings changed too), `rules` (only the rules of the
 * program).
 */
export type Restatement = 'configuration' | 'zone' | 'rules';

type StoredStream = { stream_id: number; identity: string; settings: string | null; batch_id: bigint };

/**
 * Stores the configured energy streams, and binds them to the temporary tables that the statements of the
 * roll-up read. A stream with another identity (such as another unit or field) is a new stream, and reads the
 * kept messages from the start. A stream with other rules is computed again from its readings. A stream that
 * is no longer configured loses its intervals; it continues where it stopped when it is configured again.
 * @returns which settings have changed; undefined if none has
 */
export async function bindStreams(
  connection: DuckDBConnection,
  workgroup: WorkgroupConfig,
): Promise<Restatement | undefined> {
  await createSettings(connection);
  const stored = await query<StoredStream>(connection, 'rollup/list_stored_streams');
  const known = new Map(stored.map((row) => [row.identity, row]));
  let restatement: Restatement | undefined = (await declareSources(connection, workgroup))
    ? 'configuration'
    : undefined;
  for (const [position, stream] of workgroup.energyStreams.entries()) {
    const identity = JSON.stringify(identityOf(stream));
    const settings = JSON.stringify({
      ...stream,
      position,
      timezone: workgroup.timezone,
      rules: RULES_VERSION,
    } satisfies StreamSettings);
    let row = known.get(identity);
    known.delete(identity);
    if (row === undefined) {
      row = { stream_id: stored.length + 1, identity, settings: null, batch_id: -1n };
      stored.push(row);
      await query(connection, 'rollup/add_stream', { stream_id: row.stream_id, identity });
    }
    if (row.settings !== settings) {
      const change = changeOf(row.settings, settings);
      if (hasOtherRules(row.settings))
        await query(connection, 'rollup/delete_stream_quarters', { stream_id: row.stream_id });
      if (restatement === undefined || restatement === 'rules' || change === 'zone') restatement = change;
      await query(connection, 'rollup/update_stream', { stream_id: row.stream_id, settings });
      await query(connection, 'rollup/mark_stream_restated', { stream_id: row.stream_id });
    }
    await bindStream(connection, stream, { streamId: row.stream_id, position, afterBatch: row.batch_id });
  }
  for (const removed of known.values()) {
    if (removed.settings === null) continue;
    if (restatement !== 'zone') restatement = 'configuration';
    await query(connection, 'rollup/delete_stream_intervals', { stream_id: removed.stream_id });
    // The power of a removed stream can have shaped the silences of lifetime registers. So all streams of
    // lifetime registers are computed again.
    await query(connection, 'rollup/mark_lifetime_streams_restated');
    await query(connection, 'rollup/update_stream', { stream_id: removed.stream_id, settings: null });
  }
  return restatement;
}

function hasOtherRules(before: string | null): boolean {
  return before !== null && (JSON.parse(before) as StreamSettings).rules !== RULES_VERSION;
}

/** The changes between the stored settings of a stream (null: none) and the new ones. */
function changeOf(before: string | null, now: string): Restatement {
  if (before === null) return 'configuration';
  const [stored, wanted]: [StreamSettings, StreamSettings] = [JSON.parse(before), JSON.parse(now)];
  if (stored.timezone !== wanted.timezone) return 'zone';
  return JSON.stringify({ ...stored, rules: wanted.rules }) === now ? 'rules' : 'configuration';
}

/** Stores the declared sources of devices. @returns true if they have changed */
async function declareSources(connection: DuckDBConnection, { devices }: WorkgroupConfig): Promise<boolean> {
  const before = await query<{ device: string; source: string }>(connection, 'rollup/list_declared_sources');
  const declared = new Map(
    devices.flatMap(({ id, sources = [] }) =>
      sources.map((source) => [`${id}.${source}`, { device: id, source }] as const),
    ),
  );
  const isSame = before.every(({ device, source }) => declared.has(`${device}.${source}`));
  if (isSame && before.length === declared.size) return false;
  await query(connection, 'rollup/delete_declared_sources');
  if (declared.size > 0) {
    const rows = [...declared.values()];
    await query(connection, 'rollup/store_declared_sources', {
      devices: rows.map(({ device }) => device),
      sources: rows.map(({ source }) => source),
    });
  }
  return true;
}

/** The stored settings of a stream. Version 1 of the rules stored no `rules`. */
export type StreamSettings = EnergyStream & { position: number; timezone: string; rules?: number };

/**
 * Binds the energy streams as the last roll-up stored them. What is stored does not change.
 * @returns the streams that were configured then, in their order
 */
export async function bindStoredStreams(
  connection: DuckDBConnection,
): Promise<Array<StreamSettings & { streamId: number; takenInBatchId: bigint }>> {
  await createSettings(connection);
  const streams = (await query<StoredStream>(connection, 'rollup/list_stored_streams')).flatMap((row) => {
    if (row.settings === null) return [];
    const settings: StreamSettings = JSON.parse(row.settings);
    return [{ ...settings, streamId: row.stream_id, takenInBatchId: row.batch_id }];
  });
  for (const stream of streams) {
    const { streamId, position, takenInBatchId } = stream;
    await bindStream(connection, stream, { streamId, position, afterBatch: takenInBatchId });
  }
  return streams.sort((one, other) => one.position - other.position);
}

async function createSettings(connection: DuckDBConnection): Promise<void> {
  forgetTemporaryTables(connection);
  await connection.run(
    [ruleMacros(), withConstants(loadSql('rollup/create_macros')), loadSql('rollup/create_settings')].join(
      ';\n',
    ),
  );
  for (const dimension of ['energy', 'power'] as const) {
    const units = unitTable(dimension);
    await query(connection, 'rollup/add_units', {
      dimension,
      units: units.map(([unit]) => unit),
      factors: units.map(([, factor]) => factor),
    });
  }
}

/** The settings that decide the value of a stored reading. */
function identityOf(stream: EnergyStream) {
  const { table, field, method, unit, unitField, multiplier, register, as } = stream;
  return { table, field, method, unit, unitField, multiplier, register, as };
}

async function bindStream(
  connection: DuckDBConnection,
  stream: EnergyStream,
  { streamId, position, afterBatch }: { streamId: number; position: number; afterBatch: bigint },
): Promise<void> {
  const dimension = stream.method === 'power_curve' ? 'power' : 'energy';
  const factor = unitFactor(dimension, stream.unit)! * stream.multiplier;
  await query(connection, 'rollup/add_stream_setting', {
    stream_id: streamId,
    position,
    after_batch: afterBatch,
    table_name: stream.table,
    field: stream.field,
    field_pointer: jsonPointer([stream.field]),
    unit_pointer: stream.unitField === undefined ? null : jsonPointer([stream.unitField]),
    as_source: stream.as ?? null,
    method: stream.method,
    dimension,
    factor,
    multiplier: stream.multiplier,
    max_power_w:
      stream.maxPower === undefined ? null : Math.min(stream.maxPower, ruleConstants.power_max_w.value),
    jitter_wh: stream.jitter ?? null,
    modulus_wh: stream.modulus === undefined ? null : stream.modulus * factor,
    net: stream.register === 'net',
    within_day: stream.boundary === 'within_day',
    sampling: stream.sampling,
    label_end: stream.label === 'end',
    interval_ms: stream.interval ?? null,
    max_gap_ms: stream.maxGap ?? null,
    direction: stream.direction ?? null,
  });
  for (const change of stream.registerChanges) {
    await query(connection, 'rollup/add_stream_register_change', {
      stream_id: streamId,
      device: change.device,
      source: change.source ?? null,
      at_ms: BigInt(change.at),
      final_value: change.final * factor,
      initial_value: change.initial * factor,
    });
  }
}
