-- 05 Macros: the kinds of periods of budgets.
--
-- Reads   nothing.
-- Writes  nothing. A macro of the connection.
-- Why     New and stored budgets are compared by the same rule.

-- name: create_granularity
-- Creates the macro of the kind of a period (year, month, day or other), from its first and its last day.
-- granularityOf in src/upload/budget-rows.ts has the same rule, for overlaps within a file.
CREATE OR REPLACE TEMP MACRO granularity(period_start, period_end) AS CASE
  WHEN period_start = period_end THEN 'day'
  WHEN day(period_start) = 1 AND period_end = last_day(period_start) THEN 'month'
  WHEN dayofyear(period_start) = 1 AND period_end = make_date(year(period_start), 12, 31) THEN 'year'
  ELSE 'other'
END;
