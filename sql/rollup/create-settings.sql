-- Temporary tables of a roll-up: the configuration for its statements, and what they gather on the way.
CREATE OR REPLACE TEMP TABLE stream_setting (
  stream_id INTEGER, position INTEGER, after_batch BIGINT, table_name VARCHAR, field VARCHAR, field_pointer VARCHAR, unit_pointer VARCHAR,
  method VARCHAR, dimension VARCHAR, factor DOUBLE, multiplier DOUBLE, max_power_w DOUBLE, jitter_wh DOUBLE, modulus_wh DOUBLE,
  net BOOLEAN, within_day BOOLEAN, sampling VARCHAR, label_end BOOLEAN, interval_ms BIGINT, max_gap_ms BIGINT, direction VARCHAR
);
CREATE OR REPLACE TEMP TABLE unit_factor (dimension VARCHAR, unit VARCHAR, factor DOUBLE);
CREATE OR REPLACE TEMP TABLE restated_stream (stream_id INTEGER);
CREATE OR REPLACE TEMP TABLE stream_change (stream_id INTEGER, device UUID, source VARCHAR, at_ms BIGINT, final_value DOUBLE, initial_value DOUBLE);
CREATE OR REPLACE TEMP TABLE learnt_series (series_id INTEGER);
CREATE OR REPLACE TEMP TABLE touched_day (device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT);
CREATE OR REPLACE TEMP TABLE appended (series_id INTEGER, prev_ms BIGINT, from_ms BIGINT);
-- Whole Wh of an index at an instant on the line between two readings, or as far up as the share says.
CREATE OR REPLACE TEMP MACRO index_wh(at_ms, t0, c0, t1, c1, share) AS
  round(CASE WHEN at_ms = t1 THEN c1 ELSE c0 + coalesce((c1 - c0) * share, (c1 - c0) * (at_ms - t0) / (t1 - t0)) END)::BIGINT;
-- Whether an instant before the second of two readings is interpolated over more than two hours.
CREATE OR REPLACE TEMP MACRO is_wide(at_ms, t0, c0, t1, c1) AS t1 - t0 > 7200000 AND c0 <> c1 AND at_ms < t1;
