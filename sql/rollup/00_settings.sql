-- 00 Settings: the configuration, the constants and the macros that all chapters use.
--
-- Reads   energy_stream, declared_source, series, series_day (for its columns); the configuration, which
--         src/rollup/bind-streams.ts binds; the constants of src/rollup/rule-constants.ts, which become
--         macros of their names.
-- Writes  stream_setting, unit_factor, stream_register_change, restated_stream (temporary), energy_stream,
--         declared_source, interval_energy (without streams that are no longer configured); incoming_series,
--         chosen_device, touched_day, left_series, noted_limit_change, changed_limit, day_limit,
--         reading_pair, midnight_anchor (empty, for chapters that read them before they are filled).
-- Why     After this chapter, a data engineer can run every statement of the other chapters by hand.

-- name: create_macros
-- Creates the macros, grouped by what they compute.
--
-- Time, energy and power. An interval has the number start / 15 minutes. A UTC day has the number of days
-- since 1970.
CREATE OR REPLACE TEMP MACRO interval_of(ms) AS ms // interval_ms();
CREATE OR REPLACE TEMP MACRO start_ms_of(interval_index) AS interval_index * interval_ms();
CREATE OR REPLACE TEMP MACRO utc_day(ms) AS (ms // day_ms())::INTEGER;
CREATE OR REPLACE TEMP MACRO wh_of(power_w, ms) AS power_w * ms / hour_ms();
CREATE OR REPLACE TEMP MACRO power_of(wh, ms) AS wh * hour_ms() / ms;

-- Methods, and kinds of events.
CREATE OR REPLACE TEMP MACRO is_register(method) AS method IN ('total_energy', 'daily_energy');
-- True for events that leave readings out. The other kinds of events connect two readings.
CREATE OR REPLACE TEMP MACRO is_left_out(kind) AS kind IN ('glitch', 'spike', 'standstill');
-- The quality flag of an event.
CREATE OR REPLACE TEMP MACRO event_flag(kind) AS CASE kind
  WHEN 'reset' THEN flag('reset')
  WHEN 'register_change' THEN flag('reset')
  WHEN 'rollover' THEN flag('rollover')
  WHEN 'rebase' THEN flag('rebase')
  WHEN 'glitch' THEN flag('glitch')
  WHEN 'spike' THEN flag('spike')
  WHEN 'standstill' THEN flag('estimated')
  ELSE 0
END;

-- Values and readings.
-- The largest valid value (Wh or W) of a method.
CREATE OR REPLACE TEMP MACRO value_max(method) AS CASE method
  WHEN 'power_curve' THEN power_max_w() WHEN 'interval_energy' THEN interval_max_wh() ELSE register_max_wh() END;
-- The largest value that is valid for every method.
CREATE OR REPLACE TEMP MACRO least_value_max() AS
  least(value_max('power_curve'), value_max('interval_energy'), value_max('total_energy'));
-- The rank of a reading among others of the same series and time: the one with the highest rank is used.
-- find_superseded, which compares a new reading with a stored one, also looks if the same value has come
-- again.
CREATE OR REPLACE TEMP MACRO reading_rank(message_id, stream_offset, batch_id, value) AS
  row(coalesce(message_id, -1), coalesce(stream_offset, 0), batch_id, value);
-- The largest power of ten (Wh) that a value is a multiple of.
CREATE OR REPLACE TEMP MACRO decimal_resolution(value) AS CASE
  WHEN abs(value - round(value, 2)) >= float_tolerance_wh() THEN 0.001
  WHEN abs(value - round(value, 1)) >= float_tolerance_wh() THEN 0.01
  WHEN abs(value - round(value)) >= float_tolerance_wh() THEN 0.1
  WHEN abs(value - round(value, -1)) >= float_tolerance_wh() THEN 1
  WHEN abs(value - round(value, -2)) >= float_tolerance_wh() THEN 10
  WHEN abs(value - round(value, -3)) >= float_tolerance_wh() THEN 100
  WHEN abs(value - round(value, -4)) >= float_tolerance_wh() THEN 1000
  WHEN abs(value - round(value, -5)) >= float_tolerance_wh() THEN 10000
  WHEN abs(value - round(value, -6)) >= float_tolerance_wh() THEN 100000
  ELSE 1000000
END;

-- Limits, configured or learnt.
-- The limit (W): the configured one, else the learnt one of the day, else the highest one.
CREATE OR REPLACE TEMP MACRO power_limit(configured_w, learnt_w) AS
  coalesce(configured_w, learnt_w, learnt_power_max_w());
-- The limit (W) after a restart. A learnt limit is much higher than the usual power, and an average over a
-- restart looks like a restart. So if the limit is learnt, a register can count only a few times its usual
-- power after a restart.
CREATE OR REPLACE TEMP MACRO power_limit_after_reset(configured_w, learnt_w, usual_w) AS CASE
  WHEN configured_w IS NULL THEN least(power_limit(NULL, learnt_w), after_reset_times() * usual_w)
  ELSE configured_w
END;
CREATE OR REPLACE TEMP MACRO jitter(configured_wh, resolution_wh) AS
  coalesce(configured_wh, jitter_resolutions() * resolution_wh, 0);
CREATE OR REPLACE TEMP MACRO reading_interval(configured_ms, step_ms) AS
  coalesce(configured_ms, step_ms, interval_ms());
-- The time (ms) that one reading covers by itself: an interval, or 0 for readings of an instant.
CREATE OR REPLACE TEMP MACRO reach(method, sampling, configured_ms, step_ms) AS CASE
  WHEN method = 'interval_energy' OR (method = 'power_curve' AND sampling = 'interval_average')
    THEN coalesce(configured_ms, greatest(step_ms, interval_ms()))
  ELSE 0 END;
CREATE OR REPLACE TEMP MACRO max_gap(configured_ms, step_ms) AS
  coalesce(
    configured_ms,
    greatest(gap_steps_min() * step_ms, least(gap_steps() * step_ms, gap_max_ms())),
    gap_max_ms()
  );
CREATE OR REPLACE TEMP MACRO is_beyond(value, method, reading_ms, limit_w) AS
  coalesce(
    CASE WHEN method = 'interval_energy' THEN power_of(abs(value), reading_ms) ELSE abs(value) END > limit_w,
    false
  );
-- True if a pair of readings can be a break. It does not use the rules of the series, because joining them to
-- every pair is expensive.
CREATE OR REPLACE TEMP MACRO is_suspect(value_before, from_ms, from_value, to_ms, to_value, least_power_w) AS
  to_value < from_value OR from_value < value_before OR from_value = 0 OR value_before = 0
    OR to_value - from_value > wh_of(least_power_w, to_ms - from_ms);

-- The index.
-- The index at an instant between two readings, in whole Wh. The growth is spread evenly over the time, or by
-- a share (0 to 1) if one is known.
CREATE OR REPLACE TEMP MACRO index_wh(at_ms, from_ms, from_wh, to_ms, to_wh, share) AS
  round(CASE WHEN at_ms = to_ms THEN to_wh
    ELSE from_wh
      + coalesce((to_wh - from_wh) * share, (to_wh - from_wh) * (at_ms - from_ms) / (to_ms - from_ms))
  END)::BIGINT;
-- True if an instant lies inside a silence over which the index grows, so that the index there is
-- interpolated.
CREATE OR REPLACE TEMP MACRO is_in_silence(at_ms, from_ms, from_wh, to_ms, to_wh) AS
  to_ms - from_ms > silence_ms() AND from_wh <> to_wh AND at_ms < to_ms;

-- Days.
-- By how much two energies of a day may always differ: a fixed energy, plus what both may not show yet
-- (tolerance_wh of day_candidate).
CREATE OR REPLACE TEMP MACRO least_difference_wh(tolerance_a_wh, tolerance_b_wh) AS
  contradiction_min_wh() + tolerance_a_wh + tolerance_b_wh;
-- True if two energies of a day differ by more than a share of the larger one plus least_wh. If the smaller
-- one covers less time, it has missed energy. So missed_share_times() times the missed share of the time is
-- added to the share.
CREATE OR REPLACE TEMP MACRO are_apart(wh_a, covered_a_ms, wh_b, covered_b_ms, share, least_wh) AS
  abs(wh_a - wh_b) > least_wh + greatest(abs(wh_a), abs(wh_b))
    * (share + missed_share_times() * greatest(0, 1 -
      CASE WHEN abs(wh_a) < abs(wh_b) THEN covered_a_ms / covered_b_ms ELSE covered_b_ms / covered_a_ms END));
-- The status of a day that changes. A final day becomes restated, even if the configured closing time is
-- longer now, because people have seen it.
CREATE OR REPLACE TEMP MACRO day_status(status_before, end_ms, now_ms, close_after_ms) AS CASE
  WHEN status_before IN ('final', 'restated') THEN 'restated'
  WHEN end_ms + close_after_ms > now_ms THEN 'provisional'
  ELSE 'final'
END;

-- name: create_settings
-- Creates the empty tables of the settings. The table incoming_series is described at find_series in chapter
-- 20.
-- chosen_device:
--   device   a device that is computed although this call has no new readings of it (chapters 36 and 85)
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
--   interval_ms, max_gap_ms   null: learnt
--   direction                 null: both directions count
-- unit_factor:
--   dimension, unit
--   factor   how many Wh or W one unit is
-- stream_register_change:
--   stream_id, device
--   source                       null: the change is of every source
--   at_ms
--   final_value, initial_value   Wh
-- restated_stream:
--   stream_id   a stream whose rules have changed
CREATE OR REPLACE TEMP TABLE stream_setting (
  stream_id INTEGER, position INTEGER, after_batch BIGINT, table_name VARCHAR, field VARCHAR, field_pointer VARCHAR,
  unit_pointer VARCHAR, as_source VARCHAR, method VARCHAR, dimension VARCHAR, factor DOUBLE, multiplier DOUBLE,
  max_power_w DOUBLE, jitter_wh DOUBLE, modulus_wh DOUBLE,
  net BOOLEAN, within_day BOOLEAN, sampling VARCHAR, label_end BOOLEAN, interval_ms BIGINT, max_gap_ms BIGINT,
  direction VARCHAR
);
CREATE OR REPLACE TEMP TABLE unit_factor (dimension VARCHAR, unit VARCHAR, factor DOUBLE);
CREATE OR REPLACE TEMP TABLE restated_stream (stream_id INTEGER);
CREATE OR REPLACE TEMP TABLE incoming_series (
  stream_id INTEGER, device UUID, source_id INTEGER, readings BIGINT, first_ms BIGINT, last_ms BIGINT,
  source VARCHAR, series_id INTEGER, widens BOOLEAN
);
CREATE OR REPLACE TEMP TABLE chosen_device (device UUID);
CREATE OR REPLACE TEMP TABLE stream_register_change (
  stream_id INTEGER, device UUID, source VARCHAR, at_ms BIGINT, final_value DOUBLE, initial_value DOUBLE
);

-- name: create_working_tables
-- Creates the empty tables that later chapters read even if no earlier chapter has filled them. The other
-- tables are described in the chapters that fill them.
-- noted_limit_change:
--   series_id
--   from_ms, to_ms   a UTC day whose limits have changed in this roll-up
-- left_series:
--   series_id   a series of a waiting device that this call leaves to a later one (chapter 36)
CREATE OR REPLACE TEMP TABLE noted_limit_change (series_id INTEGER, from_ms BIGINT, to_ms BIGINT);
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
  mark_before DOUBLE,
  midnight_ms BIGINT, midnight_value DOUBLE, estimated BOOLEAN
);
CREATE OR REPLACE TEMP TABLE touched_day (device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT);
CREATE OR REPLACE TEMP TABLE left_series (series_id INTEGER);

-- name: add_stream_settings
-- Fills stream_setting with the configured streams. $streams: JSON array of its rows.
INSERT INTO stream_setting BY NAME
SELECT unnest(from_json($streams::JSON, '[{
    "stream_id": "INTEGER", "position": "INTEGER", "after_batch": "BIGINT", "table_name": "VARCHAR",
    "field": "VARCHAR", "field_pointer": "VARCHAR", "unit_pointer": "VARCHAR", "as_source": "VARCHAR",
    "method": "VARCHAR", "dimension": "VARCHAR", "factor": "DOUBLE", "multiplier": "DOUBLE",
    "max_power_w": "DOUBLE", "jitter_wh": "DOUBLE", "modulus_wh": "DOUBLE", "net": "BOOLEAN",
    "within_day": "BOOLEAN", "sampling": "VARCHAR", "label_end": "BOOLEAN", "interval_ms": "BIGINT",
    "max_gap_ms": "BIGINT", "direction": "VARCHAR"
  }]'), recursive := true);

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
