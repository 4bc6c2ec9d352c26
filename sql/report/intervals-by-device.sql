-- As intervals-by-source, the sources of a device added up.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":[', profile, ']'), ',' ORDER BY device)) AS members
FROM (
  SELECT day, device, string_agg(coalesce(energy_wh::VARCHAR, 'null'), ',' ORDER BY at_ms) AS profile
  FROM (SELECT day, device, at_ms, sum(energy_wh)::BIGINT AS energy_wh FROM slot GROUP BY day, device, at_ms)
  GROUP BY day, device
)
GROUP BY day
