-- Energy of power and of interval readings in each interval, in billionths of a Wh; round-intervals rounds it.
INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, exact_nwh, covered_ms, flags)
WITH part AS (
  SELECT series_id, i, exact_nwh, CASE WHEN covered THEN b - a ELSE 0 END AS covered_ms, CASE WHEN covered THEN 0 ELSE 64 END AS flags
  FROM power_part
  UNION ALL
  -- readings that were left out (spikes)
  SELECT e.series_id, unnest(range(e.from_ms // 900000, e.to_ms // 900000 + 1)), 0, 0, 32
  FROM energy_event e JOIN context c USING (series_id)
  WHERE c.method IN ('power_curve', 'interval_energy')
  UNION ALL
  SELECT s.series_id, s.interval_start_ms // 900000, s.exact_nwh, s.covered_ms, s.flags
  FROM resumed s WHERE s.exact_nwh IS NOT NULL
)
SELECT p.series_id, p.i * 900000, 0, sum(p.exact_nwh)::BIGINT, round(sum(p.covered_ms))::INTEGER, bit_or(p.flags)::USMALLINT
FROM part p
JOIN context c ON c.series_id = p.series_id AND p.i * 900000 >= c.lo_ms AND p.i * 900000 < c.hi_ms
GROUP BY p.series_id, p.i
ORDER BY p.i, p.series_id;
