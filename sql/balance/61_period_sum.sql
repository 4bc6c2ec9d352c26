-- Months and years of a zone: sums of the days that are complete, on which every measured role is known.
--
-- Reads  day_level: "level" of 60_day_sum; period_digits: how many characters of a day are its period (7 for YYYY-MM, 4 for YYYY)
-- Writes "level" (see 70_judge), one row for each scope and month or year that has days; period: YYYY-MM or YYYY
WITH dated AS (
  SELECT *, left(period, (SELECT period_digits FROM period_digits)) AS whole_period FROM day_level
),
complete AS (
  SELECT scope_id, whole_period, count(*) AS complete_days,
    CASE WHEN count(COLUMNS('^(production|consumption|grid|battery|residual|self).*_wh$')) = count(*)
      THEN sum(COLUMNS('^(production|consumption|grid|battery|residual|self).*_wh$')) END AS '\0',
    list_sort(list_distinct(flatten(list(computed)))) AS computed,
    bool_or(COLUMNS('^is_(netted|undetermined|estimated|shapeless)$')) AS '\0',
    max(tolerance_wh) AS tolerance_wh,
    CASE WHEN count(yield) = count(*) THEN sum(yield) END AS yield,
    bool_or(has_peak) AS has_peak,
    bool_or(is_peak_unknown) OR coalesce(bool_or(has_peak) AND bool_or(yield IS NULL AND production_wh IS NOT NULL), false) AS is_peak_unknown
  FROM dated
  WHERE NOT is_incomplete
  GROUP BY scope_id, whole_period
),
whole AS (
  SELECT scope_id, whole_period, count(*) AS days, bool_or(is_incomplete) AS is_incomplete,
    sum(intervals)::BIGINT AS intervals, sum(known_intervals)::BIGINT AS known_intervals,
    bool_or(COLUMNS('.*_gap$')) AS '\0'
  FROM dated
  GROUP BY scope_id, whole_period
),
rest_of_period AS (
  SELECT scope_id, whole_period, map_from_entries(list((container, rest_wh) ORDER BY container)) AS rest
  FROM (
    SELECT scope_id, whole_period, entry.key AS container,
      CASE WHEN count(entry.value) = count(*) THEN sum(entry.value) END::BIGINT AS rest_wh
    FROM (SELECT scope_id, whole_period, unnest(map_entries(rest)) AS entry FROM dated WHERE NOT is_incomplete)
    GROUP BY ALL
  )
  GROUP BY scope_id, whole_period
)
SELECT w.*, c.* EXCLUDE (scope_id, whole_period, complete_days), w.whole_period AS period, coalesce(c.complete_days, 0) AS complete_days, r.rest
FROM whole w
LEFT JOIN complete c ON c.scope_id = w.scope_id AND c.whole_period = w.whole_period
LEFT JOIN rest_of_period r ON r.scope_id = w.scope_id AND r.whole_period = w.whole_period
