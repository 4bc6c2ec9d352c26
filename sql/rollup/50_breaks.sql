-- 50 Breaks: pairs that are not plain growth.
--
-- Reads   reading_pair, scope, series_rule, day_limit, register_change, interval_day, series_break.
-- Writes  series_break (these pairs), changed_break (breaks that are new or no longer exist).
-- Why     Most readings of a register only grow. What happened to it can only be at one of the other pairs,
--         so only these are judged.

-- name: collect_breaks
-- Finds the breaks of registers in scope, and up to the reading after the scope, because that pair can have
-- another first reading now.
-- A break of a register is one of these: a fall by more than the jitter; a rise beyond the limit; a rise from
-- zero, and the pair after it, because the first value after zero can be an average; a pair that returns at
-- once to the value before a fall; a declared change (add_declared_breaks). A register that restarts every
-- day has breaks only inside a day.
-- $least_power_w: see read_least_limit.
-- break_now: series_id, from_ms, from_value, to_ms, to_value
CREATE OR REPLACE TEMP TABLE break_now AS
WITH suspect AS MATERIALIZED (
  -- The pairs of registers that can be breaks.
  SELECT pair.*
  FROM (
    SELECT *
    FROM reading_pair
    WHERE is_suspect(value_before, from_ms, from_value, to_ms, to_value, $least_power_w::DOUBLE)
  ) AS pair
  JOIN scope USING (series_id)
  WHERE pair.to_ms BETWEEN scope.compute_from_ms AND scope.last_ms AND is_register(scope.method)
), limited AS (
  -- The suspect pairs, with the jitter of their day, and how much the register can count in their time.
  SELECT suspect.*, jitter(series_rule.jitter_wh, day_limit.learnt_resolution) AS jitter_wh,
    wh_of(
      power_limit_after_reset(series_rule.max_power_w, day_limit.learnt_power_w, day_limit.usual_power_w),
      suspect.to_ms - suspect.from_ms) AS possible_wh
  FROM suspect
  JOIN series_rule ON series_rule.series_id = suspect.series_id
  LEFT JOIN day_limit ON day_limit.series_id = suspect.series_id AND day_limit.utc_day = utc_day(suspect.to_ms)
  LEFT JOIN interval_day ON interval_day.interval_index = interval_of(suspect.from_ms)
  WHERE NOT series_rule.net AND (series_rule.method = 'total_energy' OR suspect.to_ms < interval_day.end_ms)
), compared AS (
  -- These pairs, compared. is_fall: by more than the jitter. is_beyond: a rise beyond the limit. is_start:
  -- away from zero. is_return: back to the value before a fall.
  SELECT *,
    to_value < from_value - jitter_wh AS is_fall,
    to_value - from_value > jitter_wh + possible_wh AS is_beyond,
    (from_value = 0 OR value_before = 0) AND to_value > from_value AS is_start,
    from_value < value_before - jitter_wh AND to_value >= value_before - jitter_wh AS is_return
  FROM limited
)
SELECT series_id, from_ms, from_value, to_ms, to_value
FROM compared
WHERE is_fall OR is_beyond OR is_start OR is_return;

-- name: add_declared_breaks
-- Adds the pairs of registers with a declared change to break_now. Pairs that are there already are left out.
INSERT INTO break_now BY NAME
SELECT pair.series_id, pair.from_ms, pair.from_value, pair.to_ms, pair.to_value
FROM (SELECT * FROM reading_pair WHERE series_id IN (SELECT series_id FROM register_change)) AS pair
JOIN scope ON scope.series_id = pair.series_id AND pair.to_ms BETWEEN scope.compute_from_ms AND scope.last_ms
JOIN register_change
  ON register_change.series_id = pair.series_id AND register_change.at_ms > pair.from_ms
  AND register_change.at_ms <= pair.to_ms
LEFT JOIN interval_day ON interval_day.interval_index = interval_of(pair.from_ms)
WHERE scope.method = 'total_energy' OR (scope.method = 'daily_energy' AND pair.to_ms < interval_day.end_ms)
EXCEPT SELECT series_id, from_ms, from_value, to_ms, to_value FROM break_now;

-- name: add_power_breaks
-- Adds the breaks of power and of interval readings to break_now: the pairs that go beyond the limit, or come
-- back. The first reading of a series is compared with itself.
INSERT INTO break_now BY NAME
WITH compared_power AS (
  -- The pairs of power and interval readings. is_beyond, was_beyond: the second and the first reading are
  -- beyond the limit. was_beyond is null if the first reading is not in scope.
  SELECT pair.*,
    is_beyond(pair.to_value, series_rule.method,
      reading_interval(series_rule.reading_interval_ms, to_day.learnt_step_ms),
      coalesce(series_rule.max_power_w, to_day.learnt_power_w)) AS is_beyond,
    CASE
      WHEN pair.from_ms IS NULL AND pair.to_ms > series_rule.first_ms THEN NULL
      ELSE is_beyond(pair.from_value, series_rule.method,
        reading_interval(series_rule.reading_interval_ms, from_day.learnt_step_ms),
        coalesce(series_rule.max_power_w, from_day.learnt_power_w))
    END AS was_beyond
  -- A subquery without registers, because DuckDB's planner would underestimate the number of pairs.
  FROM (
    SELECT * FROM reading_pair WHERE series_id IN (SELECT series_id FROM scope WHERE NOT is_register(method))
  ) AS pair
  JOIN scope ON scope.series_id = pair.series_id AND pair.to_ms BETWEEN scope.compute_from_ms AND scope.last_ms
  JOIN series_rule ON series_rule.series_id = pair.series_id
  LEFT JOIN day_limit AS to_day ON to_day.series_id = pair.series_id AND to_day.utc_day = utc_day(pair.to_ms)
  LEFT JOIN day_limit AS from_day ON from_day.series_id = pair.series_id AND from_day.utc_day = utc_day(pair.from_ms)
)
SELECT series_id, coalesce(from_ms, to_ms) AS from_ms, coalesce(from_value, to_value) AS from_value, to_ms, to_value
FROM compared_power
WHERE is_beyond <> was_beyond;

-- name: collect_changed_breaks
-- Compares the breaks in scope with the stored ones. $low_ms, $high_ms: bounds of the scope.
-- changed_break:
--   series_id, from_ms, from_value, to_ms, to_value
--   is_new   false: the break no longer exists
CREATE OR REPLACE TEMP TABLE changed_break AS
WITH stored_break AS (
  -- The stored breaks in scope.
  SELECT series_break.*
  FROM series_break
  JOIN scope ON scope.series_id = series_break.series_id
    AND series_break.to_ms BETWEEN scope.compute_from_ms AND scope.last_ms
  WHERE series_break.to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
)
SELECT *, true AS is_new FROM (
  SELECT series_id, from_ms, from_value, to_ms, to_value FROM break_now
  EXCEPT SELECT series_id, from_ms, from_value, to_ms, to_value FROM stored_break
)
UNION ALL BY NAME
SELECT *, false AS is_new FROM (
  SELECT series_id, from_ms, from_value, to_ms, to_value FROM stored_break
  EXCEPT SELECT series_id, from_ms, from_value, to_ms, to_value FROM break_now
);

-- name: delete_breaks
-- Deletes the breaks that no longer exist.
DELETE FROM series_break USING changed_break
WHERE NOT changed_break.is_new AND series_break.series_id = changed_break.series_id
  AND series_break.to_ms = changed_break.to_ms
  AND series_break.from_ms = changed_break.from_ms;

-- name: store_breaks
-- Stores the new breaks.
INSERT INTO series_break BY NAME
SELECT series_id, from_ms, from_value, to_ms, to_value FROM changed_break WHERE is_new;
