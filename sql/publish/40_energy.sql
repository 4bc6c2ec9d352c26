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
  se.device,
  se.source,
  es.identity->>'table' AS "table",
  es.identity->>'field' AS field,
  es.identity->>'method' AS method,
  se.stream_id,
  make_timestamptz(ri.interval_start_ms * 1000) AS interval_start,
  ri.energy_wh,
  ri.covered_ms,
  coalesce((
    SELECT list(quality_flag.flag ORDER BY quality_flag.bit) FROM quality_flag WHERE ri.flags & quality_flag.bit <> 0
  ), []) AS flags
FROM reported_interval ri
LEFT JOIN series se USING (series_id)
LEFT JOIN energy_stream es USING (stream_id)
WHERE ri.interval_start_ms >= $start_ms::BIGINT AND ri.interval_start_ms < $end_ms::BIGINT
ORDER BY se.device, se.source, se.stream_id, ri.interval_start_ms;

-- name: select_daily_energy
-- Selects daily energy from $start_day up to $end_day (excluded; local days), in the order of the report.
-- Columns:
--   day, device, source, energy_wh, method, table, field, stream_id, flags
--   coverage   share of the day, 0 to 1
--   status, version, computed_at
SELECT
  de.day,
  de.device,
  de.source,
  de.energy_wh,
  de.method,
  es.identity->>'table' AS "table",
  es.identity->>'field' AS field,
  de.stream_id,
  coalesce((
    SELECT list(quality_flag.flag ORDER BY quality_flag.bit) FROM quality_flag WHERE de.flags & quality_flag.bit <> 0
  ), []) AS flags,
  de.coverage,
  de.status,
  de.version,
  make_timestamptz(de.computed_at_ms * 1000) AS computed_at
FROM daily_energy de
LEFT JOIN energy_stream es USING (stream_id)
WHERE de.day >= $start_day::DATE AND de.day < $end_day::DATE
ORDER BY de.day, de.device, de.source;

-- name: select_daily_energy_version
-- Selects the versions of the days from $start_day up to $end_day (excluded; local days).
-- Columns:
--   day, device, source, version
--   energy_wh   null: the day was withdrawn
--   method, flags
--   coverage    share of the day, 0 to 1
--   status, computed_at, causes, batch_id
SELECT
  version.day,
  version.device,
  version.source,
  version.version,
  version.energy_wh,
  version.method,
  coalesce((
    SELECT list(quality_flag.flag ORDER BY quality_flag.bit)
    FROM quality_flag
    WHERE version.flags & quality_flag.bit <> 0
  ), []) AS flags,
  version.coverage,
  version.status,
  make_timestamptz(version.computed_at_ms * 1000) AS computed_at,
  version.causes,
  version.batch_id
FROM daily_energy_history version
WHERE version.day >= $start_day::DATE AND version.day < $end_day::DATE
ORDER BY version.day, version.device, version.source, version.version, version.computed_at_ms;

-- name: select_correction
-- Selects the corrections of people.
SELECT
  co.correction_id,
  co.kind,
  co.device,
  co.source,
  co.table_name AS "table",
  co.field,
  co.day,
  make_timestamptz(co.from_ms * 1000) AS from_time,
  make_timestamptz(co.to_ms * 1000) AS to_time,
  co.energy_wh,
  co.basis,
  co.reason,
  co.author,
  make_timestamptz(co.created_at_ms * 1000) AS created_at,
  co.undoes,
  undo.correction_id AS undone_by,
  effect.days,
  effect.before_wh,
  effect.after_wh
FROM correction co
LEFT JOIN correction undo ON undo.undoes = co.correction_id
LEFT JOIN (
  SELECT correction_id, count(*) AS days, sum(before_wh)::BIGINT AS before_wh, sum(after_wh)::BIGINT AS after_wh
  FROM correction_effect GROUP BY correction_id
) AS effect ON effect.correction_id = co.correction_id
ORDER BY co.correction_id;

-- name: select_series
-- Selects the devices and sources with energy, and the field of each.
-- Columns:
--   device, source, stream_id, table, field, method
--   active          the field is still configured
--   step_ms         usual time between two values; null for registers
--   resolution_wh   resolution of a register, a configured jitter divided by jitter_resolutions(); null if
--                   unknown
SELECT
  se.device,
  se.source,
  se.stream_id,
  es.identity->>'table' AS "table",
  es.identity->>'field' AS field,
  es.identity->>'method' AS method,
  es.settings IS NOT NULL AS active,
  CASE
    WHEN es.identity->>'method' NOT IN ('total_energy', 'daily_energy')
      THEN coalesce((es.settings->>'interval')::BIGINT, se.step_ms)
  END AS step_ms,
  CASE
    WHEN es.identity->>'method' IN ('total_energy', 'daily_energy')
      THEN coalesce((es.settings->>'jitter')::DOUBLE / jitter_resolutions(), se.resolution)
  END AS resolution_wh
FROM series se LEFT JOIN energy_stream es USING (stream_id)
ORDER BY se.device, se.source, es.stream_id;

-- name: select_local_day
-- Selects the local days of the workgroup, from the first to the last with energy, with their bounds.
-- Temporary table declared_day: from the time zone database.
SELECT day, make_timestamptz(start_ms * 1000) AS day_start, make_timestamptz(end_ms * 1000) AS day_end
FROM declared_day WHERE start_ms < end_ms ORDER BY day;

-- name: select_quality_flag
-- Selects the meanings of the quality flags.
SELECT flag, meaning FROM quality_flag ORDER BY bit;
