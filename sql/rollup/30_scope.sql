-- 30 Scope: which time is computed again.
--
-- Reads   touched, series_rule, reading, energy_event, series_break, local_day.
-- Writes  requested_time (the touched time that is computed now), scope (the whole intervals to compute
--         again, and the readings for that).
-- Why     A new reading changes two lines only: the line from the reading before it, and the line to the
--         reading after it. So the scope of a change goes from the interval of the reading before it to the
--         interval of the reading after it. Readings that are left out (glitches, spikes, standstills) do not
--         count as neighbours. A register that restarts every day is computed by whole local days.

-- name: request_stretch
-- Selects the touched time between $low_ms and $high_ms, which is computed now.
-- requested_time: series_id, from_ms, to_ms, is_new
CREATE OR REPLACE TEMP TABLE requested_time AS
SELECT series_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, bool_or(is_new) AS is_new
FROM touched WHERE from_ms >= $low_ms::BIGINT AND to_ms <= $high_ms::BIGINT
GROUP BY series_id;

-- name: describe_request
-- Returns one row about the requested time.
-- Columns:
--   series              how many
--   low_ms, high_ms     the first and the last change; null without series
--   first_ms, last_ms   first and last reading of these series; null without series
--   by_day              one of them restarts every day
SELECT count(*) AS series, min(requested_time.from_ms) AS low_ms, max(requested_time.to_ms) AS high_ms,
  min(series_rule.first_ms) AS first_ms,
  max(series_rule.last_ms) AS last_ms,
  coalesce(bool_or(series_rule.method = 'daily_energy'), false) AS by_day
FROM requested_time JOIN series_rule USING (series_id);

-- name: create_scope
-- Creates table scope, empty: one row for each series that is computed again.
-- scope:
--   series_id, method
--   from_ms, to_ms                   the requested time
--   reach_ms                         the time that one reading covers by itself
--   compute_from_ms, compute_to_ms   the intervals to compute again start at or after the first and before
--                                    the second
--   first_ms, last_ms                the readings for that, both included: those inside, two before and one
--                                    after
--   anchor_ms                        the last reading before compute_from_ms; the high-water mark there is
--                                    stored
--   is_new                           there are new readings to learn from
--   has_later                        there are readings after compute_to_ms, whose intervals stay the same
CREATE OR REPLACE TEMP TABLE scope (
  series_id INTEGER, method VARCHAR, from_ms BIGINT, to_ms BIGINT, reach_ms BIGINT, compute_from_ms BIGINT,
  compute_to_ms BIGINT, first_ms BIGINT, anchor_ms BIGINT, last_ms BIGINT, is_new BOOLEAN, has_later BOOLEAN
);

-- name: collect_scope
-- Adds a row to scope for each requested series whose neighbours are found within $near_ms. It runs up to
-- three times, with a longer $near_ms each time, for the series that are left. The last time ($is_last) adds
-- all of them.
-- $low_ms, $high_ms: the requested time and $near_ms on either side. $by_day: some series restart every day;
-- else no local days are read.
-- The steps nearby_reading and neighbour find the readings around the requested time, because the lines to
-- them change. The step whole widens the time up to them to whole intervals or days. Step outer_reading finds
-- the readings outside of these that are needed to compute them. Step searched says whether all were found.
INSERT INTO scope BY NAME
WITH wanted_series AS (
  -- One row for each series that is not in scope yet. begins_ms, ends_ms: its first and its last reading.
  SELECT requested_time.series_id, requested_time.from_ms, requested_time.to_ms, requested_time.is_new,
    series_rule.method, series_rule.reach_ms, series_rule.first_ms AS begins_ms,
    series_rule.last_ms AS ends_ms
  FROM requested_time
  JOIN series_rule USING (series_id)
  WHERE requested_time.series_id NOT IN (SELECT series_id FROM scope)
), nearby_reading AS MATERIALIZED (
  -- The readings before and after the requested time, without those that are left out.
  SELECT around.series_id, around.event_time_ms
  FROM (
    SELECT wanted.series_id, reading.event_time_ms
    FROM (SELECT * FROM wanted_series WHERE begins_ms < from_ms OR ends_ms > to_ms) AS wanted
    JOIN reading ON reading.series_id = wanted.series_id
    WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
      AND (reading.event_time_ms BETWEEN wanted.from_ms - $near_ms::BIGINT AND wanted.from_ms - 1
        OR reading.event_time_ms BETWEEN wanted.to_ms + 1 AND wanted.to_ms + $near_ms::BIGINT)
  ) AS around
  ANTI JOIN (
    SELECT * FROM energy_event WHERE is_left_out(kind) AND to_ms >= $low_ms::BIGINT AND from_ms <= $high_ms::BIGINT
  ) AS left_out ON left_out.series_id = around.series_id AND around.event_time_ms >= left_out.from_ms
    AND around.event_time_ms <= left_out.to_ms
), neighbour AS (
  -- previous_ms: the reading before the requested time. next_ms: a list of the one or two readings after it.
  -- Registers have two of them, because the statistics of a pair also use the reading before the pair.
  SELECT series_id, max(event_time_ms) FILTER (event_time_ms < from_ms) AS previous_ms,
    CASE
      WHEN is_register(any_value(method)) THEN min(event_time_ms, 2) FILTER (event_time_ms > to_ms)
      ELSE [min(event_time_ms) FILTER (event_time_ms > to_ms)]
    END AS next_ms
  FROM wanted_series JOIN nearby_reading USING (series_id)
  GROUP BY series_id
), changed AS (
  -- One row for each series. changed_from_ms, changed_to_ms: the time whose energy can change.
  SELECT *,
    least(previous_ms, from_ms - reach_ms) AS changed_from_ms,
    greatest(next_ms[1], next_ms[2], to_ms + reach_ms) AS changed_to_ms
  FROM wanted_series
  LEFT JOIN neighbour USING (series_id)
), whole AS (
  -- The whole intervals of that time, or its whole days if the register restarts every day.
  SELECT changed.*,
    CASE
      WHEN method = 'daily_energy' THEN first_day.start_ms
      ELSE start_ms_of(interval_of(changed_from_ms))
    END AS compute_from_ms,
    CASE
      WHEN method = 'daily_energy' THEN last_day.end_ms
      ELSE start_ms_of(interval_of(changed_to_ms) + 1)
    END AS compute_to_ms
  FROM changed
  LEFT JOIN local_day AS first_day
    ON $by_day AND method = 'daily_energy' AND changed_from_ms >= first_day.start_ms
      AND changed_from_ms < first_day.end_ms
  LEFT JOIN local_day AS last_day
    ON $by_day AND method = 'daily_energy' AND changed_to_ms >= last_day.start_ms AND changed_to_ms < last_day.end_ms
), outer_reading AS (
  -- The nearest readings outside of these intervals. outer_before_ms: the last two, the later one first,
  -- because the reading before a pair also decides whether the pair is a break.
  SELECT series_id,
    max(event_time_ms, 2) FILTER (event_time_ms < compute_from_ms - reach_ms) AS outer_before_ms,
    min(event_time_ms) FILTER (event_time_ms >= compute_to_ms + reach_ms) AS outer_after_ms
  FROM whole JOIN nearby_reading USING (series_id)
  GROUP BY series_id
), searched AS (
  -- has_...: the reading is found, or the series has no more readings on that side.
  SELECT *,
    previous_ms IS NOT NULL OR begins_ms >= from_ms AS has_previous,
    len(next_ms) = 2 OR (next_ms[1] IS NOT NULL AND NOT is_register(method))
      OR ends_ms <= coalesce(next_ms[1], to_ms) AS has_next,
    len(outer_before_ms) = 2 OR begins_ms >= compute_from_ms - reach_ms OR begins_ms = outer_before_ms[1]
      AS has_outer_before,
    outer_after_ms IS NOT NULL OR ends_ms < compute_to_ms + reach_ms AS has_outer_after
  FROM whole
  LEFT JOIN outer_reading USING (series_id)
)
SELECT series_id, method, from_ms, to_ms, reach_ms, compute_from_ms, compute_to_ms,
  -- If no reading before is used, the first readings of the series may have been left out. Then they are
  -- judged again too.
  coalesce(outer_before_ms[2], least(compute_from_ms - reach_ms, begins_ms)) AS first_ms,
  coalesce(outer_before_ms[1], least(compute_from_ms - reach_ms, begins_ms)) AS anchor_ms,
  coalesce(outer_after_ms, greatest(compute_to_ms + reach_ms, ends_ms)) AS last_ms,
  is_new, outer_after_ms IS NOT NULL AS has_later
FROM searched
WHERE $is_last OR (has_previous AND has_next AND has_outer_before AND has_outer_after);

-- name: describe_scope
-- Returns one row that tells the next chapters what they have to do.
-- Columns:
--   series                       how many
--   low_ms, high_ms              bounds of the scope
--   methods                      methods of its series, separated by commas
--   learns                       there are new readings to learn from
--   has_later                    lifetime registers have later intervals that stay
--   beside_daily, beside_power   lifetime registers have a daily register or power of the same source
--   may_rejudge                  some breaks may have to be judged again although none has changed. These are
--                                breaks in scope or at the beginning of a series, and a rise that is the next
--                                break after the scope, because its standstill can begin in scope
--   intervals                    how many
SELECT count(*) AS series, min(least(scope.first_ms, scope.compute_from_ms)) AS low_ms,
  max(greatest(scope.last_ms, scope.compute_to_ms)) AS high_ms,
  coalesce(string_agg(DISTINCT scope.method, ','), '') AS methods,
  coalesce(bool_or(scope.is_new AND series_rule.learns), false) AS learns,
  coalesce(bool_or(scope.has_later AND scope.method = 'total_energy' AND NOT series_rule.net), false) AS has_later,
  coalesce(bool_or(scope.method = 'total_energy' AND contains(beside.methods, 'daily_energy')), false) AS beside_daily,
  coalesce(bool_or(scope.method = 'total_energy' AND contains(beside.methods, 'power_curve')), false) AS beside_power,
  coalesce(bool_or(scope.is_new AND scope.compute_from_ms <= series_rule.first_ms
    OR next_break.to_ms <= scope.compute_to_ms
    OR (scope.is_new AND scope.method = 'total_energy' AND next_break.is_rise)), false) AS may_rejudge,
  coalesce(sum((scope.compute_to_ms - scope.compute_from_ms) // interval_ms()), 0)::BIGINT AS intervals
FROM scope
JOIN series_rule USING (series_id)
JOIN (SELECT device, source, list(method) AS methods FROM series_rule GROUP BY device, source) AS beside
  ON beside.device = series_rule.device AND beside.source = series_rule.source
LEFT JOIN (
  SELECT series_id, min(to_ms) AS to_ms, arg_min(to_value >= from_value AND from_value > 0, to_ms) AS is_rise
  FROM series_break
  WHERE to_ms BETWEEN (SELECT min(compute_from_ms) FROM scope)
    AND (SELECT max(compute_to_ms) FROM scope) + standstill_max_ms()
  GROUP BY series_id
) AS next_break ON next_break.series_id = scope.series_id;

-- name: divide_scope
-- Divides the scope into parts of whole sources, with about $intervals_max intervals each. A source with more
-- intervals is a part of its own. The sources with the fewest intervals come first, so that one long silence
-- delays nobody else.
-- divided_scope:
--   columns of scope
--   part   number of the part
CREATE OR REPLACE TEMP TABLE divided_scope AS
WITH sized AS (
  -- The scope, with the intervals of each series and of its source.
  SELECT scope.*, series_rule.device, series_rule.source,
    (scope.compute_to_ms - scope.compute_from_ms) // interval_ms() AS intervals,
    sum(intervals) OVER (PARTITION BY series_rule.device, series_rule.source) AS source_intervals
  FROM scope JOIN series_rule USING (series_id)
)
SELECT * EXCLUDE (device, source, intervals, source_intervals),
  (sum(intervals) OVER (ORDER BY source_intervals, device, source) // $intervals_max::BIGINT)::INTEGER AS part
FROM sized;

-- name: list_scope_parts
-- Returns the numbers of the parts.
SELECT DISTINCT part FROM divided_scope ORDER BY part;

-- name: load_scope_parts
-- Makes the parts from $first up to and including $last the scope.
CREATE OR REPLACE TEMP TABLE scope AS SELECT * EXCLUDE (part) FROM divided_scope WHERE part BETWEEN $first AND $last;

-- name: count_readings
-- Counts the readings in scope ($low_ms, $high_ms: its bounds), up to $count_max.
SELECT count(*) AS count
FROM (
  SELECT 1
  FROM reading
  JOIN scope ON scope.series_id = reading.series_id AND reading.event_time_ms BETWEEN scope.first_ms AND scope.last_ms
  WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  LIMIT $count_max::BIGINT
);
