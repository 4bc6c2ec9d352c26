-- 54 Events: what happened at the breaks.
--
-- Reads   judging_range, series_break, series_rule, reading, reading_pair, interval_day, series_day,
--         register_change, energy_event.
-- Writes  energy_event (what happened: reset, rollover, rebase, register_change, glitch, spike, standstill),
--         changed_event (events that are new or no longer exist), series_break (when each break was decided).
-- Why     A small pure function (src/rollup/classify-breaks.ts) judges the breaks, because that needs a look
--         ahead from break to break. These statements give it the breaks, and store what it says.

-- name: count_breaks_to_judge
-- Counts the breaks to judge.
SELECT count(*) AS breaks
FROM series_break
JOIN judging_range
  ON judging_range.series_id = series_break.series_id AND series_break.to_ms > judging_range.from_ms
  AND series_break.to_ms <= judging_range.seen_ms
WHERE series_break.to_ms BETWEEN (SELECT min(from_ms) FROM judging_range) AND (SELECT max(seen_ms) FROM judging_range);

-- name: list_judged_series
-- Returns the series whose breaks are judged, with the rules that hold for all of their breaks.
-- Columns:
--   series_id, method
--   judging_to_ms, changed_ms   to_ms and changed_ms of judging_range
--   is_learnt                   the limit is learnt
--   modulus_wh
--   first_ms, first_value       first reading; its value is null if judging does not begin with it
--   last_ms                     last reading
WITH first_reading AS (
  -- The first reading of each register that is judged from its beginning.
  SELECT reading.series_id, reading.value
  FROM (
    SELECT series_rule.series_id, series_rule.first_ms
    FROM judging_range
    JOIN series_rule USING (series_id)
    WHERE judging_range.after_ms IS NULL AND is_register(judging_range.method)
  ) AS beginning
  JOIN reading ON reading.series_id = beginning.series_id AND reading.event_time_ms = beginning.first_ms
)
SELECT judging_range.series_id, judging_range.method, judging_range.to_ms AS judging_to_ms, judging_range.changed_ms,
  series_rule.max_power_w IS NULL AS is_learnt,
  series_rule.modulus_wh, series_rule.first_ms, first_reading.value AS first_value, series_rule.last_ms
FROM judging_range
JOIN series_rule ON series_rule.series_id = judging_range.series_id
LEFT JOIN first_reading ON first_reading.series_id = judging_range.series_id;

-- name: list_breaks_to_judge
-- Returns the breaks to judge, in order, with the limits on their day. The series are divided into $parts
-- parts; this is part $part (from 0). Each subquery is bounded in time, because much more is stored than is
-- judged.
-- The steps: judged_break selects the breaks; standstill says how long a register stood still before it rose;
-- morning has the two readings around the start of a day.
-- Columns:
--   series_id
--   from_ms, from_value, to_ms, to_value
--   decided_ms                             as stored
--   is_start                               judging begins at this break; it is the first row
--   max_power_w, max_power_after_reset_w   limits on the day of the break; null: none
--   jitter_wh
--   is_beyond                              of power and interval readings: the break ends beyond the limit of
--                                          its day, else it is the way back
--   standstill_since_ms                    see standstill
--   day_ms                                 of a register that restarts every day: start of the day
--   before_ms, before_value                the last reading before that day
--   first_ms, first_value                  the first reading of that day
WITH judged_break AS MATERIALIZED (
  -- The breaks of this part. The one at after_ms is not judged again, but judging begins with its value.
  SELECT series_break.*, judging_range.method, series_break.to_ms > judging_range.from_ms AS is_judged,
    coalesce(series_break.to_ms = judging_range.after_ms, false) AS is_start
  FROM series_break
  JOIN judging_range
    ON judging_range.series_id = series_break.series_id AND series_break.to_ms <= judging_range.seen_ms
    AND (series_break.to_ms > judging_range.from_ms OR series_break.to_ms = judging_range.after_ms)
  WHERE judging_range.series_id % $parts::BIGINT = $part::BIGINT
    AND series_break.to_ms BETWEEN (SELECT min(from_ms) FROM judging_range) AND (SELECT max(seen_ms) FROM judging_range)
), rise AS MATERIALIZED (
  -- The breaks that can be the end of a standstill.
  SELECT series_id, from_ms, from_value, to_ms FROM judged_break
  WHERE is_register(method) AND is_judged AND to_value > from_value AND from_value > 0
), standstill AS (
  -- One row for each rise: since when the register has shown the value before the rise; null if longer than a
  -- standstill can last. moved_ms: the last reading with another value. is_since_first: all readings of the
  -- series up to the rise are read.
  SELECT series_id, to_ms,
    min(event_time_ms) FILTER (event_time_ms > moved_ms OR (moved_ms IS NULL AND is_since_first)) AS standstill_since_ms
  FROM (
    SELECT rise.series_id, rise.to_ms, reading.event_time_ms,
      rise.from_ms - standstill_max_ms() <= series_rule.first_ms AS is_since_first,
      max(reading.event_time_ms) FILTER (reading.value <> rise.from_value)
        OVER (PARTITION BY rise.series_id, rise.to_ms) AS moved_ms
    FROM rise
    JOIN series_rule USING (series_id)
    JOIN reading
      ON reading.series_id = rise.series_id AND reading.event_time_ms BETWEEN rise.from_ms - standstill_max_ms()
      AND rise.from_ms
    WHERE reading.event_time_ms BETWEEN (SELECT min(from_ms) FROM rise) - standstill_max_ms()
      AND (SELECT max(from_ms) FROM rise)
  )
  GROUP BY series_id, to_ms
), morning AS (
  -- One row for each day of a register that restarts every day: its first reading, and the last reading of
  -- the day before.
  SELECT pair.series_id, interval_day.start_ms, pair.from_ms AS before_ms, pair.from_value AS before_value,
    pair.to_ms AS first_ms, pair.to_value AS first_value
  FROM (
    SELECT *
    FROM reading_pair
    WHERE from_ms IS NOT NULL AND series_id IN (SELECT series_id FROM judging_range WHERE method = 'daily_energy')
  ) AS pair
  JOIN interval_day ON interval_day.interval_index = interval_of(pair.to_ms)
  WHERE pair.from_ms < interval_day.start_ms
), learnt_limit AS (
  -- The limits of the days with breaks. This is not day_limit, which has the days in scope only, because
  -- breaks before the scope are judged too.
  SELECT * FROM series_day
  WHERE utc_day BETWEEN (SELECT utc_day(min(to_ms)) FROM judged_break)
    AND (SELECT utc_day(max(to_ms)) FROM judged_break)
)
SELECT judged_break.series_id, judged_break.from_ms, judged_break.from_value, judged_break.to_ms, judged_break.to_value,
  judged_break.decided_ms, judged_break.is_start,
  method_limit(series_rule.method, series_rule.net, series_rule.max_power_w, learnt_limit.learnt_power_w)
    AS max_power_w,
  power_limit_after_reset(series_rule.max_power_w, learnt_limit.learnt_power_w, learnt_limit.usual_power_w)
    AS max_power_after_reset_w,
  jitter(series_rule.jitter_wh, learnt_limit.learnt_resolution) AS jitter_wh,
  is_beyond(judged_break.to_value, series_rule.method,
    reading_interval(series_rule.reading_interval_ms, learnt_limit.learnt_step_ms),
    coalesce(series_rule.max_power_w, learnt_limit.learnt_power_w)) AS is_beyond,
  standstill.standstill_since_ms,
  CASE WHEN judged_break.method = 'daily_energy' THEN interval_day.start_ms END AS day_ms,
  morning.before_ms, morning.before_value, morning.first_ms, morning.first_value
FROM judged_break
JOIN series_rule ON series_rule.series_id = judged_break.series_id
LEFT JOIN learnt_limit
  ON learnt_limit.series_id = judged_break.series_id AND learnt_limit.utc_day = utc_day(judged_break.to_ms)
LEFT JOIN standstill ON standstill.series_id = judged_break.series_id AND standstill.to_ms = judged_break.to_ms
-- Only of registers that restart every day. One join condition only, as in collect_lines.
LEFT JOIN interval_day
  ON interval_day.interval_index = CASE
    WHEN judged_break.method = 'daily_energy' THEN interval_of(judged_break.to_ms)
  END
LEFT JOIN morning ON morning.series_id = judged_break.series_id AND morning.start_ms = interval_day.start_ms
ORDER BY judged_break.series_id, judged_break.to_ms;

-- name: list_register_changes
-- Returns the declared changes of the registers that are judged.
SELECT register_change.series_id, register_change.at_ms, register_change.final_value, register_change.initial_value
FROM register_change WHERE register_change.series_id IN (SELECT series_id FROM judging_range)
ORDER BY register_change.series_id, register_change.at_ms;

-- name: collect_changed_events
-- Compares the judged events with the stored ones.
-- $events: the judged events, JSON array of {series_id, kind, from_ms, to_ms, value_before, value_after,
-- energy_wh}. $ends: JSON array of {series_id, to_ms}: the break of a series after which nothing is
-- different.
-- changed_event:
--   series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh
--   is_new   false: the event no longer exists
CREATE OR REPLACE TEMP TABLE changed_event AS
WITH event_now AS MATERIALIZED (
  -- The judged events.
  SELECT unnest(from_json($events::JSON, '[{
      "series_id": "INTEGER", "kind": "VARCHAR", "from_ms": "BIGINT", "to_ms": "BIGINT",
      "value_before": "DOUBLE", "value_after": "DOUBLE", "energy_wh": "DOUBLE"
    }]'), recursive := true)
), ended AS (
  -- The series whose judging ended at a break after which nothing is different.
  SELECT unnest(from_json($ends::JSON, '[{"series_id": "INTEGER", "to_ms": "BIGINT"}]'), recursive := true)
), stored_event AS MATERIALIZED (
  -- The stored events of the time that was judged.
  SELECT energy_event.* FROM energy_event JOIN judging_range USING (series_id) LEFT JOIN ended USING (series_id)
  WHERE energy_event.to_ms > judging_range.from_ms AND energy_event.to_ms <= coalesce(ended.to_ms, judging_range.to_ms)
    AND energy_event.to_ms > (SELECT min(from_ms) FROM judging_range)
    AND energy_event.to_ms <= (SELECT max(to_ms) FROM judging_range)
)
SELECT *, true AS is_new FROM (
  SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM event_now
  EXCEPT SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM stored_event
)
UNION ALL BY NAME
SELECT *, false AS is_new FROM (
  SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM stored_event
  EXCEPT SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM event_now
);

-- name: delete_events
-- Deletes the events that no longer exist.
DELETE FROM energy_event USING changed_event
WHERE NOT changed_event.is_new AND energy_event.series_id = changed_event.series_id
  AND energy_event.kind = changed_event.kind
  AND energy_event.from_ms = changed_event.from_ms AND energy_event.to_ms = changed_event.to_ms;

-- name: store_events
-- Stores the new events.
INSERT INTO energy_event BY NAME
SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM changed_event WHERE is_new;

-- name: store_decided_times
-- Stores the changed decided_ms of breaks. $decided: JSON array of {series_id, to_ms, decided_ms}; decided_ms
-- is null if the register is not believed at the break.
UPDATE series_break SET decided_ms = decided.decided_ms
FROM (
  SELECT unnest(from_json($decided::JSON, '[{
      "series_id": "INTEGER", "to_ms": "BIGINT", "decided_ms": "BIGINT"
    }]'), recursive := true)
) AS decided
WHERE series_break.series_id = decided.series_id AND series_break.to_ms = decided.to_ms;
