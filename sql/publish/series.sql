-- Which devices and sources have energy, and from which field. active: whether the field is still configured.
SELECT
  s.device,
  s.source,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  e.identity->>'method' AS method,
  e.settings IS NOT NULL AS active
FROM series s LEFT JOIN energy_stream e USING (stream_id)
ORDER BY s.device, s.source, e.stream_id
