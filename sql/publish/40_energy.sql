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
  series.device, series.source,
  energy_stream.identity->>'table' AS "table",
  energy_stream.identity->>'field' AS field,
  energy_stream.identity->>'method' AS method,
  series.stream_id,
  make_timestamptz(reported_interval.interval_start_ms * 1000) AS interval_start,
  reported_interval.energy_wh, reported_interval.covered_ms,
  coalesce((
    SELECT list(quality_flag.flag ORDER BY quality_flag.bit) FROM quality_flag
    WHERE reported_interval.flags & quality_flag.bit <> 0
  ), []) AS flags
FROM reported_interval
LEFT JOIN series USING (series_id)
LEFT JOIN energy_stream USING (stream_id)
WHERE reported_interval.interval_start_ms >= $start_ms::BIGINT AND reported_interval.interval_start_ms < $end_ms::BIGINT
ORDER BY series.device, series.source, series.stream_id, reported_interval.interval_start_ms;

-- name: select_daily_energy
-- Selects daily energy from $start_day up to $end_day (excluded; local days), in the order of the report.
-- Columns:
--   day, device, source, energy_wh, method, table, field, stream_id, flags
--   coverage   share of the day, 0 to 1
--   status, version, computed_at
SELECT
  daily_energy.day, daily_energy.device, daily_energy.source, daily_energy.energy_wh, daily_energy.method,
  energy_stream.identity->>'table' AS "table",
  energy_stream.identity->>'field' AS field,
  daily_energy.stream_id,
  coalesce((
    SELECT list(quality_flag.flag ORDER BY quality_flag.bit) FROM quality_flag
    WHERE daily_energy.flags & quality_flag.bit <> 0
  ), []) AS flags,
  daily_energy.coverage, daily_energy.status, daily_energy.version,
  make_timestamptz(daily_energy.computed_at_ms * 1000) AS computed_at
FROM daily_energy
LEFT JOIN energy_stream USING (stream_id)
WHERE daily_energy.day >= $start_day::DATE AND daily_energy.day < $end_day::DATE
ORDER BY daily_energy.day, daily_energy.device, daily_energy.source;

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
FROM daily_energy_history AS version
WHERE version.day >= $start_day::DATE AND version.day < $end_day::DATE
ORDER BY version.day, version.device, version.source, version.version, version.computed_at_ms;

-- name: select_correction
-- Selects the corrections of people.
SELECT
  correction.correction_id, correction.kind, correction.device, correction.source,
  correction.table_name AS "table",
  correction.field, correction.day,
  make_timestamptz(correction.from_ms * 1000) AS from_time,
  make_timestamptz(correction.to_ms * 1000) AS to_time,
  correction.energy_wh, correction.basis, correction.reason, correction.author,
  make_timestamptz(correction.created_at_ms * 1000) AS created_at,
  correction.undoes,
  undo.correction_id AS undone_by,
  effect.days,
  effect.before_wh,
  effect.after_wh
FROM correction
LEFT JOIN correction AS undo ON undo.undoes = correction.correction_id
LEFT JOIN (
  SELECT correction_id, count(*) AS days, sum(before_wh)::BIGINT AS before_wh, sum(after_wh)::BIGINT AS after_wh
  FROM correction_effect GROUP BY correction_id
) AS effect ON effect.correction_id = correction.correction_id
ORDER BY correction.correction_id;

-- name: select_series
-- Selects the devices and sources with energy, and the field of each.
-- Columns:
--   device, source, stream_id, table, field, method
--   active          the field is still configured
--   step_ms         usual time between two values; null for registers
--   resolution_wh   resolution of a register, a configured jitter divided by jitter_resolutions(); null if
--                   unknown
SELECT
  series.device, series.source, series.stream_id,
  energy_stream.identity->>'table' AS "table",
  energy_stream.identity->>'field' AS field,
  energy_stream.identity->>'method' AS method,
  energy_stream.settings IS NOT NULL AS active,
  CASE
    WHEN energy_stream.identity->>'method' NOT IN ('total_energy', 'daily_energy')
      THEN coalesce((energy_stream.settings->>'interval')::BIGINT, series.step_ms)
  END AS step_ms,
  CASE
    WHEN energy_stream.identity->>'method' IN ('total_energy', 'daily_energy')
      THEN coalesce((energy_stream.settings->>'jitter')::DOUBLE / jitter_resolutions(), series.resolution)
  END AS resolution_wh
FROM series LEFT JOIN energy_stream USING (stream_id)
ORDER BY series.device, series.source, energy_stream.stream_id;

-- name: select_local_day
-- Selects the local days of the workgroup, from the first to the last with energy, with their bounds.
-- Temporary table declared_day: from the time zone database.
SELECT day, make_timestamptz(start_ms * 1000) AS day_start, make_timestamptz(end_ms * 1000) AS day_end
FROM declared_day WHERE start_ms < end_ms ORDER BY day;

-- name: select_quality_flag
-- Selects the meanings of the quality flags.
SELECT flag, meaning FROM quality_flag ORDER BY bit;
