-- 50 Budgets: planned energy by day.
--
-- Reads   files of budget of the generation.
-- Writes  meter_day (one row for each meter and day with a budget), or the existing scenarios. Energy in Wh.
-- Why     A period is spread over its days and rounded on the running sum, so the days add up to the uploaded
--         value.

-- name: find_scenarios
-- Returns the scenarios for which meters ($codes) have budgets.
SELECT DISTINCT scenario FROM read_parquet($budget_files, hive_partitioning = false)
WHERE is_current AND meter_code IN (SELECT unnest($codes::VARCHAR[])) ORDER BY scenario;

-- name: select_budget_days
-- Spreads budgets over calendar days: one row for each meter and day with a budget. A period is spread evenly
-- over its days. If several periods of a scenario contain a day, the shortest counts: a day before its month,
-- a month before its year.
-- $scenario: only budgets of this scenario, in upper or lower case. Null: each meter has on each day the
-- scenario that comes first in $scenario_order; scenarios that are not in it come last, by name.
-- Two scenarios can differ only in upper and lower case: the one that is written like $scenario comes first.
-- Two periods of the same length can contain a day: the newer upload counts.
-- $budget_files: of the generation. $codes: meters.
-- Columns:
--   key, day, energy_wh, scenario
--   period_wh   energy of the whole period
--   period_start, period_end, revision, uploaded_at
SELECT meter_code AS key, day,
  (round(energy_wh * ((day - period_start + 1) / (period_end - period_start + 1)))
    - round(energy_wh * ((day - period_start) / (period_end - period_start + 1))))::BIGINT AS energy_wh,
  scenario, energy_wh AS period_wh, period_start, period_end, revision, uploaded_at
FROM (
  SELECT *, unnest(range(greatest(period_start, $start_day::DATE), least(period_end, $end_day::DATE) + INTERVAL 1 DAY,
    INTERVAL 1 DAY))::DATE AS day
  FROM read_parquet($budget_files, hive_partitioning = false)
  WHERE is_current AND ($scenario IS NULL OR lower(scenario) = lower($scenario))
    AND meter_code IN (SELECT unnest($codes::VARCHAR[]))
    AND period_start <= $end_day::DATE AND period_end >= $start_day::DATE
)
QUALIFY row_number() OVER (
  PARTITION BY meter_code, day
  ORDER BY scenario IS DISTINCT FROM $scenario, list_position($scenario_order::VARCHAR[], scenario) NULLS LAST,
    scenario, period_end - period_start, uploaded_at DESC, period_start DESC
) = 1;
