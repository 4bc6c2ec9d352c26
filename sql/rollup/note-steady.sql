-- Notes what the steps of lifetime registers have shown: see series.steady_power_w. $least_power_w: what they have been looked at by, see
-- context-limits.
UPDATE series SET steady_power_w = n.steady_power_w
FROM (
  SELECT c.series_id,
    CASE
      WHEN $least_power_w::DOUBLE IS NULL OR c.series_id IN (SELECT series_id FROM raw_step WHERE is_suspect) THEN NULL
      WHEN NOT c.is_partial THEN $least_power_w::DOUBLE
      WHEN s.steady_power_w IS NOT NULL THEN greatest(s.steady_power_w, $least_power_w::DOUBLE)
    END AS steady_power_w
  FROM context c JOIN series s USING (series_id)
  WHERE c.method = 'total_energy' AND NOT c.is_steady
) AS n
WHERE n.series_id = series.series_id AND n.steady_power_w IS DISTINCT FROM series.steady_power_w;
