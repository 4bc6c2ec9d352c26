-- 40 Energy: intervals, days and their versions, and what is needed to read them.
--
-- Reads   reported_interval, correction, correction_effect, daily_energy, daily_energy_history, series,
--         energy_stream, quality_flag; declared_day (temporary: the local days, from the time zone database).
-- Writes  nothing. Returns the rows of the datasets interval_energy, daily_energy, daily_energy_version,
--         correction, series, local_day and quality_flag. Energy in Wh.
-- Why     A reader of the lake needs no ids of the warehouse: the rows have the names of flags, tables and
--         fields.

-- name: select_interval_energy
-- Selects the reported intervals from $start_ms up to $end_ms (excluded).
SELECT
  s.device,
  s.source,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  e.identity->>'method' AS method,
  s.stream_id,
  make_timestamptz(i.interval_start_ms * 1000) AS interval_start,
  i.energy_wh,
  i.covered_ms,
  coalesce((SELECT list(q.flag ORDER BY q.bit) FROM quality_flag q WHERE i.flags & q.bit <> 0), []) AS flags
FROM reported_interval i
LEFT JOIN series s USING (series_id)
LEFT JOIN energy_stream e USING (stream_id)
WHERE i.interval_start_ms >= $start_ms::BIGINT AND i.interval_start_ms < $end_ms::BIGINT
ORDER BY s.device, s.source, s.stream_id, i.interval_start_ms;

-- name: select_daily_energy
-- Selects daily energy from $start_day up to $end_day (excluded; local days), in the order of the report.
-- Columns:
--   day, device, source, energy_wh, method, table, field, stream_id, flags
--   coverage   share of the day, 0 to 1
--   status, version, computed_at
SELECT
  d.day,
  d.device,
  d.source,
  d.energy_wh,
  d.method,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  d.stream_id,
  coalesce((SELECT list(q.flag ORDER BY q.bit) FROM quality_flag q WHERE d.flags & q.bit <> 0), []) AS flags,
  d.coverage,
  d.status,
  d.version,
  make_timestamptz(d.computed_at_ms * 1000) AS computed_at
FROM daily_energy d
LEFT JOIN energy_stream e USING (stream_id)
WHERE d.day >= $start_day::DATE AND d.day < $end_day::DATE
ORDER BY d.day, d.device, d.source;

-- name: select_daily_energy_version
-- Selects the versions of the days from $start_day up to $end_day (excluded; local days).
-- Columns:
--   day, device, source, version
--   energy_wh   null: the day was withdrawn
--   method, flags
--   coverage    share of the day, 0 to 1
--   status, computed_at, causes, batch_id
SELECT
  v.day,
  v.device,
  v.source,
  v.version,
  v.energy_wh,
  v.method,
  coalesce((SELECT list(q.flag ORDER BY q.bit) FROM quality_flag q WHERE v.flags & q.bit <> 0), []) AS flags,
  v.coverage,
  v.status,
  make_timestamptz(v.computed_at_ms * 1000) AS computed_at,
  v.causes,
  v.batch_id
FROM daily_energy_history v
WHERE v.day >= $start_day::DATE AND v.day < $end_day::DATE
ORDER BY v.day, v.device, v.source, v.version, v.computed_at_ms;

-- name: select_correction
-- Selects the corrections of people.
SELECT
  c.correction_id,
  c.kind,
  c.device,
  c.source,
  c.table_name AS "table",
  c.field,
  c.day,
  make_timestamptz(c.from_ms * 1000) AS from_time,
  make_timestamptz(c.to_ms * 1000) AS to_time,
  c.energy_wh,
  c.basis,
  c.reason,
  c.author,
  make_timestamptz(c.created_at_ms * 1000) AS created_at,
  c.undoes,
  u.correction_id AS undone_by,
  e.days,
  e.before_wh,
  e.after_wh
FROM correction c
LEFT JOIN correction u ON u.undoes = c.correction_id
LEFT JOIN (
  SELECT correction_id, count(*) AS days, sum(before_wh)::BIGINT AS before_wh, sum(after_wh)::BIGINT AS after_wh
  FROM correction_effect GROUP BY correction_id
) AS e ON e.correction_id = c.correction_id
ORDER BY c.correction_id;

-- name: select_series
-- Selects the devices and sources with energy, and the field of each.
-- Columns:
--   device, source, stream_id, table, field, method
--   active          the field is still configured
--   step_ms         usual time between two values; null for registers
--   resolution_wh   resolution of a register, a configured jitter divided by jitter_resolutions(); null if
--                   unknown
SELECT
  s.device,
  s.source,
  s.stream_id,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  e.identity->>'method' AS method,
  e.settings IS NOT NULL AS active,
  CASE WHEN e.identity->>'method' NOT IN ('total_energy', 'daily_energy') THEN coalesce((e.settings->>'interval')::BIGINT, s.step_ms) END AS step_ms,
  CASE WHEN e.identity->>'method' IN ('total_energy', 'daily_energy')
    THEN coalesce((e.settings->>'jitter')::DOUBLE / jitter_resolutions(), s.resolution)
    END AS resolution_wh
FROM series s LEFT JOIN energy_stream e USING (stream_id)
ORDER BY s.device, s.source, e.stream_id;

-- name: select_local_day
-- Selects the local days of the workgroup, from the first to the last with energy, with their bounds.
-- Temporary table declared_day: from the time zone database.
SELECT day, make_timestamptz(start_ms * 1000) AS day_start, make_timestamptz(end_ms * 1000) AS day_end
FROM declared_day WHERE start_ms < end_ms ORDER BY day;

-- name: select_quality_flag
-- Selects the meanings of the quality flags.
SELECT flag, meaning FROM quality_flag ORDER BY bit;
