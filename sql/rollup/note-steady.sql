-- Notes what the steps of lifetime registers have shown: see series.steady_power_w.
UPDATE series SET steady_power_w = n.steady_power_w
FROM (
  SELECT c.series_id,
    CASE
      WHEN o.series_id IS NOT NULL THEN NULL
      WHEN NOT c.is_partial THEN c.max_power_w
      WHEN s.steady_power_w IS NOT NULL AND c.max_power_w IS NOT NULL THEN greatest(s.steady_power_w, c.max_power_w)
    END AS steady_power_w
  FROM context c
  JOIN series s USING (series_id)
  LEFT JOIN (
    SELECT DISTINCT r.series_id
    FROM (SELECT * FROM raw_step WHERE is_suspect) AS r JOIN context own USING (series_id)
    WHERE r.v1 < r.v0 OR r.v0 = 0 OR r.v1 - r.v0 > own.max_power_w * (r.t1 - r.t0) / 3600000
  ) AS o ON o.series_id = c.series_id
  WHERE c.method = 'total_energy' AND NOT c.is_steady
) AS n
WHERE n.series_id = series.series_id AND n.steady_power_w IS DISTINCT FROM series.steady_power_w;
