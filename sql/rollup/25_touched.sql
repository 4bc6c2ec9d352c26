-- 25 Touched: the rules of each series, and which time new readings and changed rules have touched.
--
-- Reads   incoming, incoming_series (new readings), chosen_device (devices without them), restated_stream
--         (streams whose rules have changed), stream_setting, stream_register_change, series, reading,
--         series_day, interval_energy.
-- Writes  series_rule (the rules of each series), register_change, touched (the time of each series that has
--         changed).
-- Why     Everything outside the touched time keeps its energy. The touched time can lie years apart, so it
--         is divided into stretches, and each stretch is computed by itself.

-- name: collect_rules
-- Makes one row for each series of the devices with new readings, with its configured rules in Wh, W and ms.
-- With $is_chosen it takes the devices of chosen_device instead, and with $all every device. Limits that are
-- not configured are learnt for each day (chapter 45).
-- The usual time between readings is also learnt for power that is integrated over more than an hour, because
-- it tells whether the time of its energy is known.
-- series_rule:
--   series_id, stream_id, position, device, source, first_ms, last_ms
--   step_ms, resolution              usual time between two readings, and resolution (Wh), as learnt; null:
--                                    unknown
--   method, net, within_day          as configured
--   modulus_wh, sampling             as configured
--   label_end, direction             as configured
--   max_power_w, jitter_wh           as configured; null: not configured
--   reading_interval_ms              as configured; null: not configured
--   max_gap_ms                       as configured; null: not configured
--   learns                           the series learns a limit, or the usual time between its readings
--   reach_ms                         the time that one reading covers by itself
CREATE OR REPLACE TEMP TABLE series_rule AS
SELECT
  series.series_id, series.stream_id, stream_setting.position, series.device, series.source, series.first_ms,
  series.last_ms, series.step_ms, series.resolution,
  stream_setting.method, stream_setting.net, stream_setting.within_day, stream_setting.modulus_wh,
  stream_setting.sampling, stream_setting.label_end, stream_setting.direction,
  stream_setting.max_power_w, stream_setting.jitter_wh, stream_setting.reading_interval_ms, stream_setting.max_gap_ms,
  CASE
    WHEN is_register(stream_setting.method) THEN NOT stream_setting.net
      AND (stream_setting.max_power_w IS NULL OR stream_setting.jitter_wh IS NULL)
    WHEN stream_setting.method = 'power_curve' AND stream_setting.sampling = 'on_change' THEN false
    WHEN stream_setting.method = 'power_curve' AND stream_setting.sampling = 'instantaneous'
      THEN stream_setting.max_gap_ms IS NULL OR stream_setting.max_power_w IS NULL
        OR stream_setting.max_gap_ms > gap_max_ms()
    ELSE stream_setting.reading_interval_ms IS NULL OR stream_setting.max_power_w IS NULL
  END AS learns,
  reach(stream_setting.method, stream_setting.sampling, stream_setting.reading_interval_ms, series.step_ms) AS reach_ms
FROM series
JOIN stream_setting USING (stream_id)
WHERE $all OR series.device IN (
  SELECT device FROM incoming_series WHERE NOT $is_chosen
  UNION ALL BY NAME
  SELECT device FROM chosen_device WHERE $is_chosen
);

-- name: collect_register_changes
-- Lists the declared changes of registers (such as a replaced meter) for each series.
-- register_change:
--   series_id, at_ms
--   final_value, initial_value   Wh
CREATE OR REPLACE TEMP TABLE register_change AS
SELECT series_rule.series_id, stream_register_change.at_ms, stream_register_change.final_value,
  stream_register_change.initial_value
FROM stream_register_change
JOIN series_rule
  ON series_rule.stream_id = stream_register_change.stream_id AND series_rule.device = stream_register_change.device
  AND (stream_register_change.source IS NULL OR series_rule.source = stream_register_change.source);

-- name: collect_touched
-- Collects the time of each series that has changed: new readings by UTC day, and the whole time of series
-- whose rules have changed, including the intervals of the old rules. A lifetime register is also touched by
-- the power and the daily register of the same source, because they tell how it grew during a silence.
-- $is_restated: rules have changed. $beside: there is more than one stream.
-- touched:
--   series_id
--   from_ms, to_ms   event times of the first and the last change
--   is_new           there are new readings
CREATE OR REPLACE TEMP TABLE touched AS
WITH changed_time AS (
  -- The time of new readings, and of series whose rules have changed.
  SELECT series_id, min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms, true AS is_new
  FROM incoming
  GROUP BY series_id, utc_day(event_time_ms)
  UNION ALL BY NAME
  SELECT restated.series_id, least(restated.first_ms, computed.low_ms) AS from_ms,
    greatest(restated.last_ms, computed.high_ms) AS to_ms,
    NOT EXISTS (SELECT 1 FROM series_day WHERE series_day.series_id = restated.series_id) AS is_new
  FROM (
    SELECT * FROM series_rule WHERE $is_restated AND stream_id IN (SELECT stream_id FROM restated_stream)
  ) AS restated
  LEFT JOIN (
    SELECT series_id, min(interval_start_ms) AS low_ms, max(interval_start_ms) AS high_ms
    FROM interval_energy WHERE $is_restated
    GROUP BY series_id
  ) AS computed USING (series_id)
)
FROM changed_time
UNION ALL BY NAME
-- Lifetime registers beside these series.
SELECT DISTINCT own.series_id, changed_time.from_ms, changed_time.to_ms, false AS is_new
FROM changed_time
JOIN series_rule AS beside
  ON beside.series_id = changed_time.series_id AND beside.method IN ('daily_energy', 'power_curve')
JOIN series_rule AS own ON own.device = beside.device AND own.source = beside.source AND own.method = 'total_energy'
WHERE $beside AND changed_time.to_ms >= own.first_ms AND changed_time.from_ms <= own.last_ms;

-- name: list_touched_time
-- Returns the touched time by UTC day, in order.
-- Columns:
--   low_ms, high_ms     the first and the last change
--   first_ms, last_ms   first and last reading of the touched series
--   by_day              one of them restarts every day
--   several             a source has more than one series
SELECT min(touched.from_ms) AS low_ms, max(touched.to_ms) AS high_ms, min(series_rule.first_ms) AS first_ms,
  max(series_rule.last_ms) AS last_ms,
  bool_or(series_rule.method = 'daily_energy') AS by_day,
  (SELECT count(*) > count(DISTINCT (device, source)) FROM series_rule) AS several
FROM touched JOIN series_rule USING (series_id)
GROUP BY utc_day(touched.from_ms) ORDER BY low_ms;

-- name: find_silence
-- Returns true if no touched series has a reading between two times ($low_ms, $high_ms).
SELECT NOT EXISTS (
  SELECT 1 FROM reading
  WHERE event_time_ms > $low_ms::BIGINT AND event_time_ms < $high_ms::BIGINT
    AND series_id IN (SELECT series_id FROM touched)
) AS silent;
