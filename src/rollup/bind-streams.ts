import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { dimensionOf, type EnergyStream } from '../config/energy-stream.ts';
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
 * 5: a day whose register stands still is read from another method, whatever that method covers.
 */
const RULES_VERSION = 5;

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
  const changes = new Set<Restatement>();
  if (await declareSources(connection, workgroup)) changes.add('configuration');
  const stored = await query<StoredStream>(connection, 'rollup/list_stored_streams');
  const { streams, removed } = compareStreams(workgroup, stored);
  const added = streams.filter(({ isNew }) => isNew);
  if (added.length > 0)
    await query(connection, 'rollup/add_streams', {
      stream_ids: added.map(({ streamId }) => streamId),
      identities: added.map(({ identity }) => identity),
    });
  const changed = streams.filter(({ settings, before }) => settings !== before);
  for (const { streamId, settings, before } of changed) {
    changes.add(changeOf(before, settings));
    if (hasOtherRules(before))
      await query(connection, 'rollup/delete_stream_quarters', { stream_id: streamId });
  }
  if (changed.length > 0) {
    const stream_ids = changed.map(({ streamId }) => streamId);
    const settings = changed.map((stream) => stream.settings);
    await query(connection, 'rollup/update_streams', { stream_ids, settings });
    await query(connection, 'rollup/mark_streams_restated', { stream_ids });
  }
  await fillSettings(connection, streams);
  for (const { stream_id } of removed) {
    changes.add('configuration');
    await query(connection, 'rollup/delete_stream_intervals', { stream_id });
    // The power of a removed stream can have shaped the silences of lifetime registers. So all streams of
    // lifetime registers are computed again.
    await query(connection, 'rollup/mark_lifetime_streams_restated');
    await query(connection, 'rollup/clear_stream_settings', { stream_id });
  }
  return (['zone', 'configuration', 'rules'] as const).find((kind) => changes.has(kind));
}

/** A configured stream, and the stored part of it. */
interface ComparedStream extends BoundStream {
  identity: string;
  /** Its settings as text, now and as they are stored (null: the stream was not configured). */
  settings: string;
  before: string | null;
  /** True if nothing of the stream is stored. */
  isNew: boolean;
}

/**
 * Finds the configured streams among the stored ones.
 * @returns removed: the streams that are no longer configured
 */
function compareStreams(
  { energyStreams, timezone }: WorkgroupConfig,
  stored: readonly StoredStream[],
): { streams: ComparedStream[]; removed: StoredStream[] } {
  const known = new Map(stored.map((row) => [row.identity, row]));
  let lastId = stored.length;
  const streams = energyStreams.map((stream, position): ComparedStream => {
    const identity = JSON.stringify(identityOf(stream));
    const settings = { ...stream, position, timezone, rules: RULES_VERSION } satisfies StreamSettings;
    const row = known.get(identity);
    known.delete(identity);
    return {
      stream,
      position,
      streamId: row?.stream_id ?? ++lastId,
      afterBatch: row?.batch_id ?? -1n,
      identity,
      settings: JSON.stringify(settings),
      before: row?.settings ?? null,
      isNew: row === undefined,
    };
  });
  return { streams, removed: [...known.values()].filter(({ settings }) => settings !== null) };
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
 * Binds the energy streams as the last roll-up stored them. The stored settings do not change.
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
  await fillSettings(
    connection,
    streams.map((stream) => ({ ...stream, stream, afterBatch: stream.takenInBatchId })),
  );
  return streams.sort((one, other) => one.position - other.position);
}

/** The statements that create the macros of chapter 05. */
const MACROS = [
  'create_time_macros',
  'create_kind_macros',
  'create_value_macros',
  'create_limit_macros',
  'create_index_macros',
  'create_day_macros',
];

/** The statements that create the tables of the settings, and two tables that are read with them. */
const SETTING_TABLES = [
  'create_unit_factor',
  'create_stream_register_change',
  'create_restated_stream',
  'create_incoming_series',
  'create_chosen_device',
];

async function createSettings(connection: DuckDBConnection): Promise<void> {
  forgetTemporaryTables(connection);
  const statements = [...MACROS, ...SETTING_TABLES].map((name) => withConstants(loadSql(`rollup/${name}`)));
  await connection.run([ruleMacros(), ...statements].join(';\n'));
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

/** A stream with its number and its place in the configuration. */
interface BoundStream {
  stream: EnergyStream;
  streamId: number;
  position: number;
  /** The last batch that was rolled up for it. */
  afterBatch: bigint;
}

/** Fills the temporary tables of the settings. */
async function fillSettings(connection: DuckDBConnection, streams: readonly BoundStream[]): Promise<void> {
  const rows = streams.map(settingRow);
  await query(connection, 'rollup/create_stream_setting', { streams: JSON.stringify(rows) });
  for (const { stream, streamId } of streams) {
    const { factor } = energyUnit(stream);
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
}

/** Whether a stream has energy or power, and how many Wh or W one unit of its values is. */
function energyUnit({ method, unit, multiplier }: EnergyStream) {
  const dimension = dimensionOf(method);
  return { dimension, factor: unitFactor(dimension, unit)! * multiplier };
}

/** The row of table `stream_setting`. */
function settingRow({ stream, streamId, position, afterBatch }: BoundStream) {
  const { dimension, factor } = energyUnit(stream);
  return {
    stream_id: streamId,
    position,
    after_batch: String(afterBatch),
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
    reading_interval_ms: stream.interval ?? null,
    max_gap_ms: stream.maxGap ?? null,
    direction: stream.direction ?? null,
  };
}
