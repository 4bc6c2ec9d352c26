-- Which devices and sources have energy, and from which field. active: whether the field is still configured.
-- step_ms: usual time between two values, ms, null for registers; resolution_wh: what a register counts by, Wh, null where it is not known.
SELECT
  s.device,
  s.source,
  s.stream_id,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  e.identity->>'method' AS method,
  e.settings IS NOT NULL AS active,
  CASE WHEN e.identity->>'method' NOT IN ('total_energy', 'daily_energy') THEN coalesce((e.settings->>'interval')::BIGINT, s.step_ms) END AS step_ms,
  CASE WHEN e.identity->>'method' IN ('total_energy', 'daily_energy') THEN coalesce((e.settings->>'jitter')::DOUBLE / 2, s.resolution) END AS resolution_wh
FROM series s LEFT JOIN energy_stream e USING (stream_id)
ORDER BY s.device, s.source, e.stream_id
