-- 60 Period: days, months and years.
--
-- Reads   "interval_sum", "rest"; "day_level", "period_digits" (for months and years).
-- Writes  "level": one row for each scope and period.
-- Why     Days of every time zone are sums of intervals. Months are sums of complete days.
--
-- COLUMNS('.*_wh$') stands for all columns whose names end in _wh, which are the energies. The expression
-- around it is repeated for each of them, and AS '\0' keeps its name. A sum is null if one of its parts is
-- null: count(x) = count(*) is true if no x is null.

-- name: sum_days
-- Sums the intervals of each day of a time zone. A field is null if it is null in one interval. One row for
-- each scope and day that has intervals which are over.
-- Reads interval_sum, rest.
-- level:
--   columns of interval_sum   without own_day, at_ms, is_complete and kwp
--   period                    the day, as YYYY-MM-DD
--   intervals                 intervals of the day that are over
--   known_intervals           those of them in which every measured role is known
--   days, complete_days       null
--   yield                     production for each kW of peak power, kWh/kWp; null if it is unknown
--   is_incomplete             some intervals are not known
--   is_peak_unknown           a device has a peak power, but the peak of some production is unknown
--   rest                      map from each container to its rest_wh (see find_rest)
WITH own_day_sum AS (
  -- The sums by local day of the workgroup, because a peak power holds for such days.
  SELECT scope_id, day, own_day, count(*) AS intervals, count(*) FILTER (is_complete) AS known_intervals,
    CASE WHEN count(COLUMNS('.*_wh$')) = count(*) THEN sum(COLUMNS('.*_wh$')) END AS '\0',
    bool_or(COLUMNS('.*_gap$')) AS '\0',
    any_value(computed) AS computed,
    bool_or(COLUMNS('^is_(netted|undetermined|estimated|shapeless)$')) AS '\0',
    max(tolerance) AS tolerance, any_value(kwp) AS kwp, any_value(has_peak) AS has_peak
  FROM interval_sum
  GROUP BY scope_id, day, own_day
), summed AS (
  -- The sums by day of the time zone.
  SELECT scope_id, day, sum(intervals)::BIGINT AS intervals, sum(known_intervals)::BIGINT AS known_intervals,
    CASE WHEN count(COLUMNS('.*_wh$')) = count(*) THEN sum(COLUMNS('.*_wh$')) END AS '\0',
    bool_or(COLUMNS('.*_gap$')) AS '\0',
    list_sort(list_distinct(flatten(list(computed)))) AS computed,
    bool_or(COLUMNS('^is_(netted|undetermined|estimated|shapeless)$')) AS '\0',
    max(tolerance) AS tolerance,
    -- Without a producing device the production is 0.
    CASE WHEN count(own_day_yield) = count(*) THEN sum(own_day_yield) END AS yield,
    bool_or(has_peak) AS has_peak,
    coalesce(bool_or(has_peak) AND bool_or(kwp IS NULL AND (has_peak OR production_wh <> 0)), false) AS is_peak_unknown
  FROM (
    SELECT *,
      CASE
        WHEN kwp > 0 THEN production_wh / (kwp * 1000)
        WHEN NOT has_peak AND production_wh = 0 THEN 0
      END AS own_day_yield
    FROM own_day_sum
  )
  GROUP BY scope_id, day
), rest_of_day AS (
  -- One row for each scope and day: the rest of each container, as a map.
  SELECT scope_id, day, map_from_entries(list((container, rest_wh) ORDER BY container)) AS rest
  FROM (
    SELECT scope_id, day, container, CASE WHEN count(rest_wh) = count(*) THEN sum(rest_wh) END::BIGINT AS rest_wh
    FROM rest GROUP BY scope_id, day, container
  )
  GROUP BY scope_id, day
)
SELECT summed.*, summed.day::VARCHAR AS period, NULL::BIGINT AS days, NULL::BIGINT AS complete_days,
  summed.known_intervals < summed.intervals AS is_incomplete, rest_of_day.rest
FROM summed
LEFT JOIN rest_of_day ON rest_of_day.scope_id = summed.scope_id AND rest_of_day.day = summed.day;

-- name: sum_periods
-- Sums the complete days of each month or year, on which every measured role is known. One row for each scope
-- and month or year that has days. Reads "day_level" ("level" of sum_days) and "period_digits" (how many
-- characters of a day are its period: 7 for YYYY-MM, 4 for YYYY).
-- level:
--   columns of day_level   without day
--   period                 YYYY-MM or YYYY
--   days                   days that have intervals
--   complete_days          those of them on which every measured role is known
WITH dated AS (
  -- The days, with their month or year.
  SELECT *, left(period, (SELECT period_digits FROM period_digits)) AS whole_period FROM day_level
), complete AS (
  -- The sums over complete days.
  SELECT scope_id, whole_period, count(*) AS complete_days,
    CASE WHEN count(COLUMNS('.*_wh$')) = count(*) THEN sum(COLUMNS('.*_wh$')) END AS '\0',
    list_sort(list_distinct(flatten(list(computed)))) AS computed,
    bool_or(COLUMNS('^is_(netted|undetermined|estimated|shapeless)$')) AS '\0',
    max(tolerance) AS tolerance,
    CASE WHEN count(yield) = count(*) THEN sum(yield) END AS yield,
    bool_or(has_peak) AS has_peak,
    bool_or(is_peak_unknown)
      OR coalesce(bool_or(has_peak) AND bool_or(yield IS NULL AND production_wh IS NOT NULL), false) AS is_peak_unknown
  FROM dated
  WHERE NOT is_incomplete
  GROUP BY scope_id, whole_period
), whole AS (
  -- The counts over all days.
  SELECT scope_id, whole_period, count(*) AS days, bool_or(is_incomplete) AS is_incomplete,
    sum(intervals)::BIGINT AS intervals, sum(known_intervals)::BIGINT AS known_intervals,
    bool_or(COLUMNS('.*_gap$')) AS '\0'
  FROM dated
  GROUP BY scope_id, whole_period
), rest_of_period AS (
  -- One row for each scope and month or year: the rest of each container over complete days, as a map.
  SELECT scope_id, whole_period, map_from_entries(list((container, rest_wh) ORDER BY container)) AS rest
  FROM (
    SELECT scope_id, whole_period, entry.key AS container,
      CASE WHEN count(entry.value) = count(*) THEN sum(entry.value) END::BIGINT AS rest_wh
    FROM (SELECT scope_id, whole_period, unnest(map_entries(rest)) AS entry FROM dated WHERE NOT is_incomplete)
    GROUP BY ALL
  )
  GROUP BY scope_id, whole_period
)
SELECT whole.*, complete.* EXCLUDE (scope_id, whole_period, complete_days), whole.whole_period AS period,
  coalesce(complete.complete_days, 0) AS complete_days, rest_of_period.rest
FROM whole
LEFT JOIN complete ON complete.scope_id = whole.scope_id AND complete.whole_period = whole.whole_period
LEFT JOIN rest_of_period
  ON rest_of_period.scope_id = whole.scope_id AND rest_of_period.whole_period = whole.whole_period;
