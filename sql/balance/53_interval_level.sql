-- Intervals as a level that can be judged.
--
-- Reads  interval_sum, rest
-- Writes "level" (see 70_judge), one row for each scope and interval; period: the start as YYYY-MM-DDTHH:MM:SSZ
SELECT i.*, strftime(make_timestamp(i.at_ms * 1000), '%Y-%m-%dT%H:%M:%SZ') AS period,
  1 AS intervals, is_complete::INTEGER AS known_intervals, NULL::BIGINT AS days, NULL::BIGINT AS complete_days,
  NULL::DOUBLE AS yield, false AS is_incomplete, false AS is_peak_unknown, r.rest
FROM interval_sum i
LEFT JOIN (
  SELECT scope_id, at_ms, map_from_entries(list((container, rest_wh) ORDER BY container)) AS rest FROM rest GROUP BY scope_id, at_ms
) AS r ON r.scope_id = i.scope_id AND r.at_ms = i.at_ms
