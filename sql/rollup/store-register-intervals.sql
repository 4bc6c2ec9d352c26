-- Energy of registers in each interval: the growth of the rounded index between the interval's bounds. Only the steps that cross a
-- bound are looked at, because the growth inside an interval adds up to the difference at its bounds.
INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, covered_ms, flags, last_ms, last_value)
WITH judged AS MATERIALIZED (
  -- booked: whole Wh of the index at t0
  SELECT *, (sum(grown) OVER w - grown)::BIGINT AS booked, lag(t1) OVER w AS t_before, lead(t1) OVER w IS NULL AS is_last
  FROM (SELECT *, round(c1)::BIGINT - round(c0)::BIGINT AS grown FROM step)
  -- Two end at midnight where a daily register is read exactly then and still shows the day before.
  WINDOW w AS (PARTITION BY series_id ORDER BY t1, t0 ROWS UNBOUNDED PRECEDING)
), hole AS (
  -- time between two steps of which nothing is known
  SELECT series_id, t_before AS t0, c0, t0 AS t1, c0 AS c1, booked, held FROM judged WHERE t_before < t0
), line AS NOT MATERIALIZED (
  -- frame_wh: what is booked beyond the index itself; i: the interval of t1
  SELECT *, t1 // 900000 AS i
  FROM (
    SELECT series_id, t0, v0 AS c0, t1, v1 AS c1, 0 AS frame_wh, v0 AS held FROM raw_step ANTI JOIN other_series USING (series_id)
    UNION ALL
    SELECT series_id, t0, c0, t1, c1, booked - round(c0)::BIGINT, held FROM judged
    UNION ALL
    SELECT series_id, t0, c0, t1, c1, booked - round(c0)::BIGINT, held FROM hole
  )
), crossing AS (
  SELECT * FROM line WHERE t0 < i * 900000 AND t0 >= (i - 1) * 900000
  UNION ALL
  SELECT * REPLACE (unnest(range(t0 // 900000 + 1, i + 1)) AS i) FROM line WHERE t1 - t0 > 900000 AND t0 < (i - 1) * 900000
), first_point AS (
  SELECT series_id, t1 AS t, round(v1)::BIGINT AS wh FROM raw_step ANTI JOIN other_series USING (series_id) WHERE t0 IS NULL
  UNION ALL
  SELECT series_id, t0, booked FROM judged WHERE t_before IS NULL
), last_point AS (
  SELECT series_id, t1 AS t, round(v1)::BIGINT AS wh, v1 AS value FROM raw_step ANTI JOIN other_series USING (series_id) WHERE is_last
  UNION ALL
  SELECT series_id, t1, booked + grown, c1 FROM judged WHERE is_last
), bound AS (
  -- index_wh at_ms, where interval i starts or the readings do, and the last reading before it; the last row of a series ends its intervals
  SELECT series_id, i, i * 900000 AS at_ms,
    frame_wh + index_wh(i * 900000, t0, c0, t1, c1, share) AS index_wh, is_wide(i * 900000, t0, c0, t1, c1) AS wide,
    t0 AS last_ms, held AS last_value
  FROM crossing LEFT JOIN shape USING (series_id, i)
  UNION ALL
  SELECT series_id, t // 900000, t, wh, false, NULL, NULL FROM first_point
  UNION ALL
  SELECT series_id, t // 900000 + 1, t, wh, false, t, value FROM last_point
), energy AS (
  SELECT series_id, i - 1 AS i, index_wh - lag(index_wh) OVER w AS energy_wh, at_ms - lag(at_ms) OVER w AS known_ms,
    lag(wide) OVER w AS starts_wide, wide AS ends_wide, last_ms, last_value
  FROM bound
  WINDOW w AS (PARTITION BY series_id ORDER BY i)
), mark AS (
  SELECT series_id, i, bit_or(flags)::USMALLINT AS flags,
    sum(CASE WHEN covered THEN 0 ELSE least(t1, (i + 1) * 900000) - greatest(t0, i * 900000) END)::BIGINT AS uncovered_ms
  FROM (
    SELECT series_id, t0, t1, covered, flags, unnest(range(t0 // 900000, (t1 - 1) // 900000 + 1)) AS i FROM step WHERE flags <> 0 OR NOT covered
    UNION ALL
    SELECT series_id, t0, t1, false, 0, unnest(range(t0 // 900000, (t1 - 1) // 900000 + 1)) FROM hole
  )
  GROUP BY series_id, i
), part AS (
  SELECT e.series_id, e.i, e.energy_wh,
    (e.known_ms - coalesce(m.uncovered_ms, 0))::INTEGER AS covered_ms,
    (coalesce(m.flags, 0) | CASE WHEN e.starts_wide THEN 16385 ELSE 0 END | CASE WHEN e.ends_wide THEN 32769 ELSE 0 END)::USMALLINT AS flags,
    CASE WHEN e.last_ms >= e.i * 900000 THEN e.last_ms END AS last_ms,
    CASE WHEN e.last_ms >= e.i * 900000 THEN e.last_value END AS last_value
  FROM energy e
  LEFT JOIN mark m ON m.series_id = e.series_id AND m.i = e.i
  WHERE e.energy_wh IS NOT NULL
)
SELECT p.series_id, p.i * 900000, p.energy_wh + coalesce(s.energy_wh, 0), p.covered_ms + coalesce(s.covered_ms, 0),
  p.flags | coalesce(s.flags, 0), coalesce(p.last_ms, s.last_ms), coalesce(p.last_value, s.last_value)
FROM part p
LEFT JOIN resumed s ON s.series_id = p.series_id AND s.interval_start_ms = p.i * 900000
LEFT JOIN (SELECT series_id, lo_ms, hi_ms FROM context WHERE is_partial) AS c ON c.series_id = p.series_id
WHERE (c.series_id IS NULL OR (p.i * 900000 >= c.lo_ms AND p.i * 900000 < c.hi_ms))
  AND (p.covered_ms > 0 OR p.energy_wh <> 0 OR p.flags <> 0 OR p.last_ms IS NOT NULL OR s.series_id IS NOT NULL)
ORDER BY p.i::INTEGER;
