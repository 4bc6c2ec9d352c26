-- 00 Settings: the configuration, and the tables that later chapters expect.
--
-- Reads   energy_stream, declared_source, series, series_day (for its columns); the configuration, which
--         src/rollup/bind-streams.ts binds.
-- Writes  stream_setting, unit_factor, stream_register_change, restated_stream (temporary), energy_stream,
--         declared_source, interval_energy (without streams that are no longer configured); incoming_series,
--         chosen_device, touched_day, left_series, noted_limit_change, changed_limit, day_limit,
--         reading_pair, midnight_anchor (empty, for chapters that read them before they are filled).
-- Why     After this chapter and the next one, a data engineer can run every statement of the other chapters
--         by hand.

-- name: create_stream_setting
-- Makes the table of the configured streams. $streams: JSON array of its rows.
-- stream_setting:
--   stream_id
--   position                  place of the stream in the configuration
--   after_batch               the last batch that was rolled up for the stream
--   table_name, field         what it reads
--   field_pointer             the field as a JSON pointer
--   unit_pointer              JSON pointer to the unit of a reading; null: readings have no unit of their own
--   as_source                 the source to which all messages are booked; null: their own
--   method, dimension
--   factor                    how many Wh or W one unit of a value is
--   multiplier                what a value is multiplied by if the reading names its unit
--   max_power_w, jitter_wh    null: learnt
--   modulus_wh                null: not configured
--   net, within_day, sampling, label_end
--   reading_interval_ms       null: learnt
--   max_gap_ms                null: learnt
--   direction                 null: both directions count
CREATE OR REPLACE TEMP TABLE stream_setting AS
SELECT unnest(from_json($streams::JSON, '[{
    "stream_id": "INTEGER", "position": "INTEGER", "after_batch": "BIGINT", "table_name": "VARCHAR",
    "field": "VARCHAR", "field_pointer": "VARCHAR", "unit_pointer": "VARCHAR", "as_source": "VARCHAR",
    "method": "VARCHAR", "dimension": "VARCHAR", "factor": "DOUBLE", "multiplier": "DOUBLE",
    "max_power_w": "DOUBLE", "jitter_wh": "DOUBLE", "modulus_wh": "DOUBLE", "net": "BOOLEAN",
    "within_day": "BOOLEAN", "sampling": "VARCHAR", "label_end": "BOOLEAN", "reading_interval_ms": "BIGINT",
    "max_gap_ms": "BIGINT", "direction": "VARCHAR"
  }]'), recursive := true);

-- name: create_unit_factor
-- Creates the table of the units that a reading can name in a field of its own.
-- unit_factor:
--   dimension, unit
--   factor   how many Wh or W one unit is
CREATE OR REPLACE TEMP TABLE unit_factor (dimension VARCHAR, unit VARCHAR, factor DOUBLE);

-- name: create_stream_register_change
-- Creates the table of the declared changes of registers.
-- stream_register_change:
--   stream_id, device
--   source                       null: the change is of every source
--   at_ms
--   final_value, initial_value   Wh
CREATE OR REPLACE TEMP TABLE stream_register_change (
  stream_id INTEGER, device UUID, source VARCHAR, at_ms BIGINT, final_value DOUBLE, initial_value DOUBLE
);

-- name: create_restated_stream
-- Creates the table of the streams whose rules have changed.
-- restated_stream: stream_id
CREATE OR REPLACE TEMP TABLE restated_stream (stream_id INTEGER);

-- name: create_incoming_series
-- Creates the table that collect_series of chapter 20 fills and describes. It is empty if there are no new
-- readings.
CREATE OR REPLACE TEMP TABLE incoming_series (
  stream_id INTEGER, device UUID, source_id INTEGER, readings BIGINT, first_ms BIGINT, last_ms BIGINT,
  source VARCHAR, series_id INTEGER, widens BOOLEAN
);

-- name: create_chosen_device
-- Creates the table of the devices that are computed although this call has no new readings of them (chapters
-- 22 and 36).
-- chosen_device: device
CREATE OR REPLACE TEMP TABLE chosen_device (device UUID);

-- name: create_noted_limit_change
-- Creates the table of the UTC days whose limits have changed in this roll-up.
-- noted_limit_change:
--   series_id
--   from_ms, to_ms   bounds of the day
CREATE OR REPLACE TEMP TABLE noted_limit_change (series_id INTEGER, from_ms BIGINT, to_ms BIGINT);

-- name: create_left_series
-- Creates the table of the series of waiting devices that this call leaves to a later one (chapter 36).
-- left_series: series_id
CREATE OR REPLACE TEMP TABLE left_series (series_id INTEGER);

-- name: create_empty_tables
-- Creates the other tables that later chapters read even if no earlier chapter has filled them. The chapters
-- that fill them describe them: 45 (changed_limit, day_limit), 40 (reading_pair), 64 (midnight_anchor) and
-- 80 (touched_day).
CREATE OR REPLACE TEMP TABLE changed_limit (
  series_id INTEGER, utc_day INTEGER, learnt_power_w DOUBLE, usual_power_w DOUBLE, learnt_resolution DOUBLE,
  learnt_step_ms BIGINT, from_ms BIGINT, to_ms BIGINT
);
CREATE OR REPLACE TEMP TABLE day_limit AS FROM series_day LIMIT 0;
CREATE OR REPLACE TEMP TABLE reading_pair (
  series_id INTEGER, value_before DOUBLE, from_ms BIGINT, from_value DOUBLE, to_ms BIGINT, to_value DOUBLE,
  is_last BOOLEAN, is_needed BOOLEAN
);
CREATE OR REPLACE TEMP TABLE midnight_anchor (
  series_id INTEGER, from_ms BIGINT, from_wh DOUBLE, to_ms BIGINT, to_wh DOUBLE, covered BOOLEAN, flags USMALLINT,
  mark_before DOUBLE, midnight_ms BIGINT, midnight_value DOUBLE, estimated BOOLEAN
);
CREATE OR REPLACE TEMP TABLE touched_day (device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT);

-- name: add_stream_register_change
-- Adds one declared change of a register, with values in Wh.
INSERT INTO stream_register_change (stream_id, device, source, at_ms, final_value, initial_value)
VALUES ($stream_id, $device::UUID, $source, $at_ms::BIGINT, $final_value, $initial_value);

-- name: add_units
-- Adds the units that a reading can name in a field of its own. $units and $factors: lists of the same
-- length.
INSERT INTO unit_factor BY NAME
SELECT $dimension AS dimension, unnest($units::VARCHAR[]) AS unit, unnest($factors::DOUBLE[]) AS factor;

-- name: list_stored_streams
-- Returns all energy streams that were ever configured.
SELECT stream_id, identity, settings, batch_id FROM energy_stream ORDER BY stream_id;

-- name: add_streams
-- Stores new energy streams. No batch is rolled up for them yet (-1). $stream_ids, $identities: lists of the
-- same length.
INSERT INTO energy_stream BY NAME
SELECT unnest($stream_ids::INTEGER[]) AS stream_id, unnest($identities::VARCHAR[]) AS identity, -1 AS batch_id;

-- name: update_streams
-- Stores the settings of energy streams. $stream_ids, $settings: lists of the same length.
UPDATE energy_stream SET settings = changed.settings
FROM (
  SELECT unnest($stream_ids::INTEGER[]) AS stream_id, unnest($settings::VARCHAR[]) AS settings
) AS changed
WHERE energy_stream.stream_id = changed.stream_id;

-- name: clear_stream_settings
-- Deletes the settings of an energy stream that is no longer configured.
UPDATE energy_stream SET settings = NULL WHERE stream_id = $stream_id;

-- name: mark_streams_restated
-- Adds the streams whose rules have changed ($stream_ids). All their series are computed again.
INSERT INTO restated_stream BY NAME SELECT unnest($stream_ids::INTEGER[]) AS stream_id;

-- name: forget_restated_streams
-- Empties the list of streams whose rules have changed, after the roll-up that has computed them again.
DELETE FROM restated_stream;

-- name: mark_lifetime_streams_restated
-- Adds every stream of lifetime registers, because the shape of their silences can follow from another
-- stream.
INSERT INTO restated_stream BY NAME
SELECT stream_id FROM stream_setting WHERE method = 'total_energy' EXCEPT SELECT stream_id FROM restated_stream;

-- name: delete_stream_intervals
-- Deletes the energy of a stream that is no longer configured. Its readings are kept.
DELETE FROM interval_energy WHERE series_id IN (SELECT series_id FROM series WHERE stream_id = $stream_id);

-- name: list_declared_sources
-- Returns the declared sources of devices, as stored by the last roll-up.
SELECT device::VARCHAR AS device, source FROM declared_source ORDER BY ALL;

-- name: delete_declared_sources
-- Deletes all declared sources, before the new ones are stored.
DELETE FROM declared_source;

-- name: store_declared_sources
-- Stores the declared sources. $devices and $sources: lists of the same length.
INSERT INTO declared_source BY NAME
SELECT unnest($devices::UUID[]) AS device, unnest($sources::VARCHAR[]) AS source;
