-- 00 Settings: what the other chapters read by.
--
-- Reads   the configuration, bound by src/rollup/bind-streams.ts; the constants of src/rollup/rules.ts, which become macros of their names.
-- Writes  stream_setting, unit_factor, stream_change, restated_stream (temporary); energy_stream, declared_source.
-- Why     A data engineer can run any statement of these chapters by hand, once the settings are there.

-- name: create_macros
-- An interval is numbered by its start divided by 15 minutes, a UTC day by days since 1970.
CREATE OR REPLACE TEMP MACRO interval_of(ms) AS ms // interval_ms();
CREATE OR REPLACE TEMP MACRO utc_day(ms) AS (ms // day_ms())::INTEGER;
CREATE OR REPLACE TEMP MACRO wh_of(power_w, ms) AS power_w * ms / hour_ms();
CREATE OR REPLACE TEMP MACRO power_of(wh, ms) AS wh * hour_ms() / ms;
CREATE OR REPLACE TEMP MACRO is_register(method) AS method IN ('total_energy', 'daily_energy');
-- Events that leave readings out; the others join two readings.
CREATE OR REPLACE TEMP MACRO is_left_out(kind) AS kind IN ('glitch', 'spike', 'standstill');
-- The largest value (Wh or W) that a method takes.
CREATE OR REPLACE TEMP MACRO value_max(method) AS CASE method WHEN 'power_curve' THEN power_max_w() WHEN 'interval_energy' THEN interval_max_wh() ELSE register_max_wh() END;
-- The largest value that every method takes.
CREATE OR REPLACE TEMP MACRO least_value_max() AS least(value_max('power_curve'), value_max('interval_energy'), value_max('total_energy'));
-- Limits: what is configured, else what is learnt for the day, else what holds where nothing is known.
CREATE OR REPLACE TEMP MACRO power_limit(configured_w, learnt_w) AS coalesce(configured_w, learnt_w, learnt_power_max_w());
-- After a restart a register counts little more than is usual, by what is learnt. An average over a restart shows less than before too.
CREATE OR REPLACE TEMP MACRO power_limit_after_reset(configured_w, learnt_w, usual_w) AS CASE WHEN configured_w IS NULL THEN least(power_limit(NULL, learnt_w), after_reset_times() * usual_w) ELSE configured_w END;
CREATE OR REPLACE TEMP MACRO jitter(configured_wh, resolution_wh) AS coalesce(configured_wh, jitter_resolutions() * resolution_wh, 0);
CREATE OR REPLACE TEMP MACRO reading_interval(configured_ms, step_ms) AS coalesce(configured_ms, step_ms, interval_ms());
-- How far a reading reaches by itself.
CREATE OR REPLACE TEMP MACRO reach(method, sampling, configured_ms, step_ms) AS
  CASE WHEN method = 'interval_energy' OR (method = 'power_curve' AND sampling = 'interval_average') THEN coalesce(configured_ms, greatest(step_ms, interval_ms())) ELSE 0 END;
CREATE OR REPLACE TEMP MACRO max_gap(configured_ms, step_ms) AS coalesce(configured_ms, greatest(gap_steps_min() * step_ms, least(gap_steps() * step_ms, gap_max_ms())), gap_max_ms());
CREATE OR REPLACE TEMP MACRO is_beyond(value, method, reading_ms, limit_w) AS
  coalesce(CASE WHEN method = 'interval_energy' THEN power_of(abs(value), reading_ms) ELSE abs(value) END > limit_w, false);
-- Whether a pair may be a break: without the rules of its series, because joining them to every pair costs more than all the rest.
CREATE OR REPLACE TEMP MACRO is_suspect(v_before, t0, v0, t1, v1, least_power_w) AS
  v1 < v0 OR v0 < v_before OR v0 = 0 OR v_before = 0 OR v1 - v0 > wh_of(least_power_w, t1 - t0);
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
-- Whole Wh of an index at an instant on the line between two readings, or as far up as the share says.
CREATE OR REPLACE TEMP MACRO index_wh(at_ms, t0, c0, t1, c1, share) AS
  round(CASE WHEN at_ms = t1 THEN c1 ELSE c0 + coalesce((c1 - c0) * share, (c1 - c0) * (at_ms - t0) / (t1 - t0)) END)::BIGINT;
-- Whether an instant before the second of two readings is interpolated over more than two hours.
CREATE OR REPLACE TEMP MACRO is_wide(at_ms, t0, c0, t1, c1) AS t1 - t0 > wide_ms() AND c0 <> c1 AND at_ms < t1;
-- Whether two energies of a day are further apart than a share of the larger one and so many Wh. Where the smaller one covers less time, so much of
-- the larger one may be what it has missed, twice because power is not even.
CREATE OR REPLACE TEMP MACRO are_apart(wh_a, covered_a_ms, wh_b, covered_b_ms, share, least_wh) AS
  abs(wh_a - wh_b) > least_wh + greatest(abs(wh_a), abs(wh_b))
    * (share + 2 * greatest(0, 1 - CASE WHEN abs(wh_a) < abs(wh_b) THEN covered_a_ms / covered_b_ms ELSE covered_b_ms / covered_a_ms END));
-- The status of a day that changes. One that has been final stays a day that people have seen, also where the closing time is longer now.
CREATE OR REPLACE TEMP MACRO day_status(status_before, end_ms, now_ms, close_after_ms) AS CASE
  WHEN status_before IN ('final', 'restated') THEN 'restated' WHEN end_ms + close_after_ms > now_ms THEN 'provisional' ELSE 'final' END;
-- The flag of what an event is.
CREATE OR REPLACE TEMP MACRO event_flag(kind) AS CASE kind
  WHEN 'reset' THEN flag('reset') WHEN 'register_change' THEN flag('reset') WHEN 'rollover' THEN flag('rollover') WHEN 'rebase' THEN flag('rebase')
  WHEN 'glitch' THEN flag('glitch') WHEN 'spike' THEN flag('spike') WHEN 'standstill' THEN flag('estimated') ELSE 0 END;

-- name: create_settings
-- stream_setting: one row for each configured energy stream, limits in Wh, W and ms, null where nothing is configured; after_batch: the last batch it
-- has taken in. unit_factor: what one of a unit is in Wh or W. stream_change: declared changes of registers (source null: of every source).
CREATE OR REPLACE TEMP TABLE stream_setting (
  stream_id INTEGER, position INTEGER, after_batch BIGINT, table_name VARCHAR, field VARCHAR, field_pointer VARCHAR, unit_pointer VARCHAR,
  as_source VARCHAR, method VARCHAR, dimension VARCHAR, factor DOUBLE, multiplier DOUBLE, max_power_w DOUBLE, jitter_wh DOUBLE, modulus_wh DOUBLE,
  net BOOLEAN, within_day BOOLEAN, sampling VARCHAR, label_end BOOLEAN, interval_ms BIGINT, max_gap_ms BIGINT, direction VARCHAR
);
CREATE OR REPLACE TEMP TABLE unit_factor (dimension VARCHAR, unit VARCHAR, factor DOUBLE);
CREATE OR REPLACE TEMP TABLE restated_stream (stream_id INTEGER);
CREATE OR REPLACE TEMP TABLE incoming_series (
  stream_id INTEGER, device UUID, source_id INTEGER, readings BIGINT, first_ms BIGINT, last_ms BIGINT, source VARCHAR, series_id INTEGER, widens BOOLEAN
);
CREATE OR REPLACE TEMP TABLE stream_register_change (stream_id INTEGER, device UUID, source VARCHAR, at_ms BIGINT, final_value DOUBLE, initial_value DOUBLE);

-- name: create_working_tables
-- What chapters leave for later ones where they have nothing to do. limits_changed: UTC days of series
-- whose limits have changed in this roll-up.
CREATE OR REPLACE TEMP TABLE noted_limit_change (series_id INTEGER, from_ms BIGINT, to_ms BIGINT);
CREATE OR REPLACE TEMP TABLE changed_limit (
  series_id INTEGER, utc_day INTEGER, learnt_power_w DOUBLE, usual_power_w DOUBLE, learnt_resolution DOUBLE, learnt_step_ms BIGINT, from_ms BIGINT, to_ms BIGINT
);
CREATE OR REPLACE TEMP TABLE day_limit AS FROM series_day LIMIT 0;
CREATE OR REPLACE TEMP TABLE reading_pair (
  series_id INTEGER, v_before DOUBLE, t0 BIGINT, v0 DOUBLE, t1 BIGINT, v1 DOUBLE, is_last BOOLEAN, is_needed BOOLEAN
);
CREATE OR REPLACE TEMP TABLE midnight_anchor (
  series_id INTEGER, t0 BIGINT, c0 DOUBLE, t1 BIGINT, c1 DOUBLE, covered BOOLEAN, flags USMALLINT, held DOUBLE, midnight_ms BIGINT, midnight_value DOUBLE,
  estimated BOOLEAN
);
CREATE OR REPLACE TEMP TABLE touched_day (device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT);

-- name: add_stream_setting
-- One configured stream, with limits in Wh, W and ms; null where nothing is configured.
INSERT INTO stream_setting VALUES (
  $stream_id, $position, $after_batch::BIGINT, $table_name, $field, $field_pointer, $unit_pointer, $as_source, $method, $dimension, $factor, $multiplier,
  $max_power_w, $jitter_wh, $modulus_wh, $net, $within_day, $sampling, $label_end, $interval_ms, $max_gap_ms, $direction
);

-- name: add_stream_register_change
-- One declared change of a register, values in Wh; source is null where it holds for every source of the device.
INSERT INTO stream_register_change VALUES ($stream_id, $device::UUID, $source, $at_ms::BIGINT, $final_value, $initial_value);

-- name: add_units
-- The units that readings may carry in a field of their own. $units, $factors: names and what one of them is in Wh or W.
INSERT INTO unit_factor SELECT $dimension, unnest($units::VARCHAR[]), unnest($factors::DOUBLE[]);

-- name: list_stored_streams
-- The energy streams that have been rolled up so far.
SELECT stream_id, identity, settings, batch_id FROM energy_stream ORDER BY stream_id;

-- name: add_stream
-- Adds an energy stream that has taken in nothing yet.
INSERT INTO energy_stream (stream_id, identity, settings, batch_id) VALUES ($stream_id, $identity, NULL, -1);

-- name: update_stream
-- Notes the settings of an energy stream; null where it is no longer configured.
UPDATE energy_stream SET settings = $settings WHERE stream_id = $stream_id;

-- name: mark_stream_restated
-- Marks a stream whose rules have changed: all its series are computed again.
INSERT INTO restated_stream VALUES ($stream_id);

-- name: mark_lifetime_streams_restated
-- Marks every stream of lifetime registers.
INSERT INTO restated_stream SELECT stream_id FROM stream_setting WHERE method = 'total_energy' EXCEPT SELECT stream_id FROM restated_stream;

-- name: delete_stream_intervals
-- Removes the energy of a stream that is no longer configured; its readings stay.
DELETE FROM interval_energy WHERE series_id IN (SELECT series_id FROM series WHERE stream_id = $stream_id);

-- name: list_declared_sources
-- The sources that devices were declared to have so far.
SELECT device::VARCHAR AS device, source FROM declared_source ORDER BY ALL;

-- name: delete_declared_sources
-- Forgets which sources devices have.
DELETE FROM declared_source;

-- name: store_declared_sources
-- Notes the sources that devices have: $devices and $sources, lists side by side.
INSERT INTO declared_source SELECT unnest($devices::UUID[]), unnest($sources::VARCHAR[]);
