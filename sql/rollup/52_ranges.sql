-- 52 Ranges: which breaks are judged again.
--
-- Reads   changed_break, changed_limit, scope, series_rule, series_break, energy_event, local_day.
-- Writes  judging_range (the range of breaks to judge, for each series with a change).
-- Why     What a break is depends on other breaks: the ones before it say what the register really shows, and
--         the ones after it say whether it comes back. So judging begins at the last break that was decided
--         without the changed readings. It ends at a break after which nothing is different.

-- name: collect_changed_ranges
-- Finds the time of each series in which breaks have to be judged again: the first and the last change of
-- what decides them.
-- $is_restated: rules have changed, so everything in scope is judged again. $low_ms, $high_ms: bounds of the
-- scope.
-- changed_range:
--   series_id
--   from_ms   the first change. A break before it that was decided with readings before it stays as it is
--   to_ms     the last change. A later break changes only if it depends on a changed one
CREATE OR REPLACE TEMP TABLE changed_range AS
WITH of_breaks AS (
  -- Changed breaks. The range begins at the first reading of the break, because earlier breaks were decided
  -- with the readings up to there.
  SELECT series_id, from_ms, to_ms FROM changed_break
), of_limits AS (
  -- Days with other limits.
  SELECT series_id, from_ms, to_ms FROM changed_limit WHERE series_id IN (SELECT series_id FROM scope)
), of_rules AS (
  -- The whole scope, if rules have changed.
  SELECT series_id, compute_from_ms AS from_ms, compute_to_ms AS to_ms FROM scope WHERE $is_restated
), of_days AS (
  -- Days of registers that restart every day: from their first to their last ms. Their first break also
  -- depends on the first reading of the day and on the last reading before the day.
  SELECT series_id, compute_from_ms AS from_ms, compute_to_ms - 1 AS to_ms FROM scope
  WHERE method = 'daily_energy' AND series_id IN (
    SELECT series_id FROM series_break WHERE to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  )
), of_standstills AS (
  -- Rises after a standstill. They depend on how long the register stood still, so on readings up to
  -- standstill_max_ms() before. A rise does not depend on the scope if the register moved at another break in
  -- between. A register that restarts every day stands still within a day. Only the rise itself has changed,
  -- so the range begins and ends at its second reading.
  SELECT series_id, to_ms AS from_ms, to_ms
  FROM (
    SELECT series_break.*,
      min(series_break.to_ms) FILTER (series_break.from_ms >= scope.compute_to_ms
        AND series_break.from_value <> series_break.to_value)
        OVER (PARTITION BY series_break.series_id) AS moved_ms
    FROM series_break
    JOIN scope ON scope.series_id = series_break.series_id AND series_break.to_ms > scope.compute_from_ms
      AND series_break.to_ms <= scope.compute_to_ms + standstill_max_ms()
    WHERE scope.is_new AND scope.method = 'total_energy'
      AND series_break.to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT + standstill_max_ms()
  )
  WHERE to_value > from_value AND from_value > 0 AND from_ms < coalesce(moved_ms, forever_ms())
), of_beginnings AS (
  -- First readings of series. Readings that are left out at the beginning of a series are left out from its
  -- first reading on.
  SELECT scope.series_id, series_rule.first_ms AS from_ms, series_rule.first_ms AS to_ms
  FROM scope JOIN series_rule USING (series_id)
  WHERE scope.is_new AND scope.compute_from_ms <= series_rule.first_ms
    AND scope.series_id IN (
      SELECT series_id FROM energy_event WHERE from_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT)
)
SELECT series_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms
FROM (
  FROM of_breaks UNION ALL BY NAME FROM of_limits UNION ALL BY NAME FROM of_rules
  UNION ALL BY NAME FROM of_days UNION ALL BY NAME FROM of_standstills UNION ALL BY NAME FROM of_beginnings
)
GROUP BY series_id;

-- name: collect_judging_ranges
-- Finds the range of breaks that are judged again, for each series of changed_range.
-- Lifetime registers: from the last break before the first change that was decided without the changed
-- readings (its decided_ms is before them), up to the $ahead-th decided break after the last change.
-- Registers that restart every day: all breaks of the changed days. Power and interval readings, whose breaks
-- depend only on the next one: from the break before the first change to the break after the last one.
-- $near_ms: how far from a change breaks are searched. If no start or end is found, the range is open, and
-- the caller runs the statement again with a longer time.
-- judging_range:
--   series_id, method
--   after_ms         the break to begin with; null: judging begins with the series
--   from_ms, to_ms   breaks after from_ms up to to_ms are judged; -1 and forever_ms(): the range is open
--   seen_ms          breaks up to here are read
--   changed_ms       the last change
CREATE OR REPLACE TEMP TABLE judging_range AS
WITH nearby_break AS (
  -- The breaks around the changes. The beginning and the end of each range are searched among them.
  SELECT series_id, to_ms AS break_ms, decided_ms FROM series_break
  WHERE series_id IN (SELECT series_id FROM changed_range)
    AND to_ms BETWEEN (SELECT min(from_ms) FROM changed_range) - $near_ms::BIGINT
      AND (SELECT max(to_ms) FROM changed_range) + $near_ms::BIGINT
), nearest_break AS (
  -- One row for each series. before_ms, next_ms: the breaks next to the change. after_ms, decided: the last
  -- decided break before it, and the first $ahead ones after it.
  SELECT series_id, method, from_ms, to_ms,
    max(break_ms) FILTER (break_ms < from_ms) AS before_ms,
    min(break_ms) FILTER (break_ms > to_ms) AS next_ms,
    max(break_ms) FILTER (break_ms < from_ms AND decided_ms < from_ms) AS after_ms,
    min(break_ms, $ahead) FILTER (break_ms > to_ms AND decided_ms IS NOT NULL) AS decided
  FROM changed_range
  JOIN (SELECT series_id, method FROM series_rule) USING (series_id)
  LEFT JOIN nearby_break USING (series_id)
  GROUP BY ALL
), bounded AS (
  -- These rows, with the range, which depends on the method: breaks after first_ms up to last_ms. -1 is
  -- before every break, so the range begins with the series.
  SELECT nearest_break.*,
    CASE method
      WHEN 'total_energy' THEN coalesce(after_ms, -1)
      WHEN 'daily_energy' THEN first_day.start_ms - 1
      ELSE coalesce(before_ms - 1, -1)
    END AS first_ms,
    CASE method
      WHEN 'total_energy' THEN coalesce(decided[$ahead], forever_ms())
      WHEN 'daily_energy' THEN last_day.end_ms - 1
      ELSE coalesce(next_ms - 1, forever_ms())
    END AS last_ms
  FROM nearest_break
  LEFT JOIN local_day AS first_day
    ON method = 'daily_energy' AND from_ms >= first_day.start_ms AND from_ms < first_day.end_ms
  LEFT JOIN local_day AS last_day ON method = 'daily_energy' AND to_ms >= last_day.start_ms AND to_ms < last_day.end_ms
)
SELECT series_id, method,
  CASE WHEN method = 'total_energy' THEN after_ms END AS after_ms, first_ms AS from_ms, last_ms AS to_ms,
  CASE WHEN is_register(method) OR next_ms IS NULL THEN last_ms ELSE next_ms END AS seen_ms, to_ms AS changed_ms
FROM bounded;

-- name: check_judging_ends
-- Returns open = true if some range begins with its series or has no end. Then there is no earlier or later
-- break, or collect_judging_ranges has not searched far enough.
SELECT coalesce(bool_or(method <> 'daily_energy' AND (from_ms = -1 OR to_ms = forever_ms())), false) AS open
FROM judging_range;

-- name: judge_everything
-- Extends every range to all breaks of its series, for tests that compare. A register that restarts every day
-- is judged day by day.
UPDATE judging_range
SET after_ms = NULL, from_ms = -1, to_ms = forever_ms(), seen_ms = forever_ms()
WHERE method <> 'daily_energy';

-- name: extend_judging
-- Extends ranges to the given ends, because no break was found after which nothing is different. $ends: JSON
-- array of {series_id, to_ms}.
UPDATE judging_range SET to_ms = ended.to_ms, seen_ms = ended.to_ms
FROM (
  SELECT unnest(from_json($ends::JSON, '[{"series_id": "INTEGER", "to_ms": "BIGINT"}]'), recursive := true)
) AS ended
WHERE judging_range.series_id = ended.series_id;
