-- 05 Macros: the kinds of periods of budgets, and the time of each meter of an upload.
--
-- Reads   incoming (uploaded_time).
-- Writes  nothing. Macros of the connection.
-- Why     New and stored budgets are compared by the same rule, and so are intervals and register values.

-- name: create_granularity
-- Creates the macro of the kind of a period (year, month, day or other), from its first and its last day.
-- granularityOf in src/upload/budget-rows.ts has the same rule, for overlaps within a file.
CREATE OR REPLACE TEMP MACRO granularity(period_start, period_end) AS CASE
  WHEN period_start = period_end THEN 'day'
  WHEN day(period_start) = 1 AND period_end = last_day(period_start) THEN 'month'
  WHEN dayofyear(period_start) = 1 AND period_end = make_date(year(period_start), 12, 31) THEN 'year'
  ELSE 'other'
END;

-- name: create_uploaded_time
-- Creates the macro of the time of each meter of the upload: from its first to its last row.
-- Columns: meter_code, from_ms, to_ms
CREATE OR REPLACE TEMP MACRO uploaded_time() AS TABLE
SELECT meter_code, min(start_ms) AS from_ms, max(end_ms) AS to_ms FROM incoming GROUP BY ALL;
