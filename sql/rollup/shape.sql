-- How the growth of a lifetime register over a silence of more than two hours is spread where power is known beside it: as the power was,
-- scaled so that it stays the register's. Time of which no power is known takes its even share, and so do the intervals at both ends, which
-- are silent in part only.
-- $low_ms, $high_ms: bounds of the context.
-- shape: series_id, i (interval start / 15 min), share (0 to 1, of the growth up to then), nwh, known_ms (the power up to then, and the time
-- that it is known of), nwh_all, known_ms_all (of the whole silence)
CREATE OR REPLACE TEMP TABLE shape AS
WITH silence AS (
  SELECT series_id, t0, t1 FROM raw_step WHERE t1 - t0 > 7200000 AND v1 > v0 AND series_id NOT IN (SELECT series_id FROM troubled)
  UNION ALL
  SELECT series_id, t0, t1 FROM step WHERE t1 - t0 > 7200000 AND c1 > c0 AND covered
), beside AS MATERIALIZED (
  SELECT s.series_id, s.t0, s.t1, arg_min(power.series_id, t.position) AS power_id
  FROM silence s
  JOIN series_rule own ON own.series_id = s.series_id AND own.method = 'total_energy' AND NOT own.net AND NOT own.within_day
  JOIN series_rule power ON power.device = own.device AND power.source = own.source AND power.method = 'power_curve'
  JOIN stream_setting t ON t.stream_id = power.stream_id
  GROUP BY ALL
), known AS (
  SELECT b.series_id, b.t0, b.t1, p.interval_start_ms // 900000 AS i, greatest(p.exact_nwh, 0) AS nwh, p.covered_ms
  FROM (
    SELECT * FROM interval_energy
    WHERE series_id IN (SELECT power_id FROM beside) AND interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  ) AS p
  JOIN beside b ON b.power_id = p.series_id AND p.interval_start_ms >= b.t0 AND p.interval_start_ms + 900000 <= b.t1
), summed AS (
  SELECT b.series_id, b.t0, b.t1, b.i,
    sum(coalesce(k.nwh, 0)) OVER so_far AS nwh, sum(coalesce(k.covered_ms, 0)) OVER so_far AS known_ms,
    sum(coalesce(k.nwh, 0)) OVER whole AS nwh_all, sum(coalesce(k.covered_ms, 0)) OVER whole AS known_ms_all
  FROM (SELECT *, unnest(range(t0 // 900000, t1 // 900000)) AS i FROM beside) AS b
  LEFT JOIN known k ON k.series_id = b.series_id AND k.t1 = b.t1 AND k.i = b.i
  WINDOW whole AS (PARTITION BY b.series_id, b.t1), so_far AS (PARTITION BY b.series_id, b.t1 ORDER BY b.i)
)
SELECT series_id, i + 1 AS i, ((i + 1) * 900000 - t0 - known_ms + known_ms_all * (nwh / nwh_all)) / (t1 - t0) AS share,
  nwh, known_ms, nwh_all, known_ms_all
FROM summed
WHERE nwh_all > 0;
