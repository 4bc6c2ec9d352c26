-- Days by device of "chosen": days by source, each with whether it counts. Of the sources that count: their sum, what any of them has, the
-- least coverage, the newest version. Where none of them has energy, energy_wh is null and the day incomplete.
SELECT
  day,
  device,
  (sum(energy_wh) FILTER (counts))::BIGINT AS energy_wh,
  coalesce(list_sort(list_distinct(list(method) FILTER (counts))), []) AS methods,
  CASE WHEN bool_or(counts) THEN list_sort(list_distinct(flatten(list(flags) FILTER (counts)))) ELSE ['incomplete'] END AS flags,
  coalesce(min(coverage) FILTER (counts), 0) AS coverage,
  CASE
    WHEN coalesce(bool_or(status = 'provisional') FILTER (counts), bool_or(status = 'provisional')) THEN 'provisional'
    WHEN coalesce(bool_or(status = 'restated') FILTER (counts), bool_or(status = 'restated')) THEN 'restated'
    ELSE 'final'
  END AS status,
  coalesce(max(version) FILTER (counts), max(version)) AS version,
  coalesce(max(computed_at) FILTER (counts), max(computed_at)) AS computed_at
FROM chosen
GROUP BY day, device
