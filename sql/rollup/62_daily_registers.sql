-- 62 Daily registers: the lines of registers that restart every day.
--
-- Reads   index_reading, skipped_reading, scope, series_rule, day_limit, interval_day, energy_event.
-- Writes  index_line (with the lines of these registers).
-- Why     What such a register shows is the energy since its restart, which should be at midnight. But some
--         still show the value of the day before in the morning, and some restart late. So each reading is
--         first compared with the reading before it and with the day. Then each step becomes a line.

-- name: collect_daily_readings
-- Compares each reading of the registers that restart every day with the reading before it and with the day.
-- $low_ms, $high_ms: bounds of the readings in scope.
-- restarts_late is true if the register has not restarted yet on the day of the reading, and still continues
-- the day before. Then the first restart of this day is at most a day after the reading before. It is false
-- if the register restarted at midnight too: the value fell by more than the jitter, or fell to less than the
-- jitter, or the value of the evening is less than late_restart_share_min() of it.
-- daily_reading:
--   series_id, event_time_ms, value
--   kind                              the event at this reading; null: none
--   energy_wh                         the energy that the event books
--   first_ms                          of the series
--   day, start_ms                     the local day and its start
--   jitter_wh, max_power_after_reset_w
--   index_segment                     number of events up to this reading
--   time_before_ms, value_before      of the reading before; null: this is the first one in scope
--   day_of_before, end_of_before_ms   the day of the reading before, and the end of that day
--   mark                              the highest value of the segment so far
--   mark_before                       the mark at the reading before
--   shows_day_before                  all readings of the day so far show the value of the evening before
--   showed_day_before                 the same at the reading before
--   day_moves                         a reading of the day shows another value
--   day_segment                       the last segment of the day
--   is_possible_since_midnight        the value is possible since midnight, or since the reading before
--   continues                         the growth since the reading before is possible
--   restarts_late                     see above
--   is_after_silence                  the reading before is more than restart_max_ms() ago
CREATE OR REPLACE TEMP TABLE daily_reading AS
WITH restart AS (
  -- The first restart of each day. It is read from the stored events, because it can be after the last
  -- reading in scope.
  SELECT energy_event.series_id, interval_day.day, min(energy_event.to_ms) AS restart_ms
  FROM energy_event
  JOIN interval_day ON interval_day.interval_index = interval_of(energy_event.to_ms)
  WHERE energy_event.kind = 'reset' AND energy_event.to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT + day_ms()
    AND energy_event.series_id IN (SELECT series_id FROM scope)
  GROUP BY energy_event.series_id, interval_day.day
), limited AS (
  -- The readings with their day and limits.
  SELECT index_reading.series_id, index_reading.event_time_ms, index_reading.value, index_reading.kind,
    index_reading.energy_wh, series_rule.first_ms, interval_day.day, interval_day.start_ms,
    interval_day.end_ms, jitter(series_rule.jitter_wh, day_limit.learnt_resolution) AS jitter_wh,
    power_limit(series_rule.max_power_w, day_limit.learnt_power_w) AS max_power_w,
    power_limit_after_reset(series_rule.max_power_w, day_limit.learnt_power_w, day_limit.usual_power_w)
      AS max_power_after_reset_w
  FROM index_reading
  JOIN series_rule USING (series_id)
  JOIN interval_day ON interval_day.interval_index = interval_of(index_reading.event_time_ms)
  LEFT JOIN day_limit
    ON day_limit.series_id = index_reading.series_id AND day_limit.utc_day = utc_day(index_reading.event_time_ms)
  WHERE index_reading.method = 'daily_energy'
), paired AS (
  -- These readings, with the reading before.
  SELECT *,
    lag(event_time_ms) OVER in_order AS time_before_ms, lag(value) OVER in_order AS value_before,
    lag(day) OVER in_order AS day_of_before, lag(end_ms) OVER in_order AS end_of_before_ms,
    count(kind) OVER in_order AS index_segment
  FROM limited
  LEFT JOIN restart USING (series_id, day)
  WINDOW in_order AS (PARTITION BY series_id ORDER BY event_time_ms)
), by_day AS (
  -- These readings, with the values that the register has shown on the day up to them.
  SELECT *,
    first_value(value_before) OVER in_day AS evening_value, max(value) OVER in_day AS highest,
    min(value) OVER in_day AS lowest,
    max(value) OVER (PARTITION BY series_id, day, index_segment ORDER BY event_time_ms) AS mark
  FROM paired
  WINDOW in_day AS (PARTITION BY series_id, day ORDER BY event_time_ms)
), carried AS (
  -- These readings, with whether all of these values are that of the evening before.
  SELECT * EXCLUDE (evening_value, highest, lowest),
    coalesce(evening_value > 0 AND highest = evening_value AND lowest = evening_value, false) AS shows_day_before
  FROM by_day
)
SELECT * EXCLUDE (restart_ms, max_power_w, end_ms),
  lag(mark) OVER in_order AS mark_before, lag(shows_day_before) OVER in_order AS showed_day_before,
  bool_or(NOT shows_day_before) OVER (PARTITION BY series_id, day) AS day_moves,
  max(index_segment) OVER (PARTITION BY series_id, day) AS day_segment,
  value <= wh_of(max_power_after_reset_w, event_time_ms - greatest(time_before_ms, start_ms)) + jitter_wh
    AS is_possible_since_midnight,
  value - value_before <= wh_of(max_power_w, event_time_ms - time_before_ms) + jitter_wh AS continues,
  coalesce(
    continues AND restart_ms - time_before_ms <= day_ms()
      AND value_before >= late_restart_share_min() * value
      AND value >= least(value_before, greatest(value_before - jitter_wh, jitter_wh)),
    false
  ) AS restarts_late,
  event_time_ms - time_before_ms > restart_max_ms() AS is_after_silence
FROM carried
WINDOW in_order AS (PARTITION BY series_id ORDER BY event_time_ms);

-- name: classify_daily_steps
-- Decides what happened between a reading and the reading before it. It is a view, because a second table of
-- all readings would take time.
-- These are the kinds:
--   first      the reading is the first one in scope
--   grow       the register has grown since the reading before
--   new_day    the register restarted at midnight; its value is the energy since then
--   carry      the register still shows the value of the day before, which is not energy
--   event      an event inside the day books its energy
--   rebase     an impossible change; no energy
-- From one day to the next: the same value is carry. A register that restarts late continues, so it is grow.
-- A fall is new_day if the value is possible since midnight. So is a rise after a silence of more than
-- restart_max_ms(). Another rise is grow if it is possible.
-- daily_step:
--   columns of daily_reading
--   step_kind   what happened
CREATE OR REPLACE TEMP VIEW daily_step AS
SELECT *,
  CASE
    WHEN time_before_ms IS NULL THEN 'first'
    WHEN day <> day_of_before
      THEN CASE
        WHEN value = value_before THEN 'carry'
        WHEN restarts_late THEN 'grow'
        WHEN (value < value_before OR is_after_silence) AND is_possible_since_midnight THEN 'new_day'
        WHEN value > value_before AND continues THEN 'grow'
        ELSE 'rebase'
      END
    WHEN kind = 'rebase' THEN 'rebase'
    WHEN kind IS NOT NULL THEN 'event'
    WHEN showed_day_before AND value > value_before AND is_after_silence AND is_possible_since_midnight
      AND NOT restarts_late
      THEN 'new_day'
    WHEN shows_day_before THEN 'carry'
    ELSE 'grow'
  END AS step_kind
FROM daily_reading;

-- name: collect_daily_lines
-- Makes the lines of registers that restart every day, from their steps.
INSERT INTO index_line BY NAME
WITH compared_step AS (
  -- The steps between two readings. grown_from: what the register showed before it grew, which is the mark of
  -- the day, or the last value of the day before.
  SELECT *, CASE WHEN day = day_of_before THEN mark_before ELSE value_before END AS grown_from
  FROM daily_step
  WHERE step_kind <> 'first'
), daily_line AS (
  -- A line for each step, and two more kinds of lines: up to midnight, and before the first reading of a
  -- series.
  SELECT series_id,
    CASE
      WHEN step_kind IN ('new_day', 'carry') THEN greatest(time_before_ms, start_ms)
      ELSE time_before_ms
    END AS from_ms,
    CASE step_kind
      WHEN 'grow' THEN least(grown_from, mark)
      WHEN 'new_day' THEN 0
      WHEN 'event' THEN mark - energy_wh
      ELSE mark
    END AS from_wh,
    event_time_ms AS to_ms, mark AS to_wh,
    step_kind <> 'rebase' AND (step_kind <> 'carry' OR day_moves) AS covered,
    CASE
      WHEN step_kind = 'rebase' THEN flag('rebase')
      -- The restart that ends a carry-over is normal, so it has no flag.
      WHEN kind = 'reset' AND showed_day_before THEN 0
      ELSE event_flag(kind)
    END
      | CASE WHEN shows_day_before THEN flag('carry_over') ELSE 0 END
      | CASE WHEN step_kind = 'grow' AND value < grown_from THEN flag('jitter') ELSE 0 END AS flags,
    value_before AS mark_before
  FROM compared_step
  UNION ALL BY NAME
  -- If the register still shows the same value after midnight, its value at midnight is known.
  SELECT series_id, time_before_ms AS from_ms, value_before AS from_wh, end_of_before_ms AS to_ms,
    value_before AS to_wh, true AS covered, 0 AS flags, value_before AS mark_before
  FROM compared_step
  WHERE step_kind = 'carry' AND day <> day_of_before
  UNION ALL BY NAME
  -- The first reading of a series is the energy since midnight, unless a restart later in the day shows that
  -- it was the value of the day before.
  SELECT series_id, start_ms AS from_ms, 0 AS from_wh, event_time_ms AS to_ms, value AS to_wh, true AS covered,
    0 AS flags, 0 AS mark_before
  FROM daily_step
  WHERE event_time_ms = first_ms AND day_segment = 0 AND value > 0 AND event_time_ms > start_ms
    AND value <= wh_of(max_power_after_reset_w, event_time_ms - start_ms) + jitter_wh
)
-- Lines that pass over readings that are left out get the flags of these.
SELECT daily_line.* REPLACE ((daily_line.flags | coalesce(skipped_reading.flags, 0))::USMALLINT AS flags)
FROM daily_line LEFT JOIN skipped_reading
  ON skipped_reading.series_id = daily_line.series_id AND skipped_reading.to_ms = daily_line.to_ms;
