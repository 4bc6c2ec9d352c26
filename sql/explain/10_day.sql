-- 10 Day: what the report says about a day, and which series the device has.
--
-- Reads   stream_setting, batch, series, daily_energy, declared_source, quality_flag.
-- Writes  nothing. Energy in Wh, instants in ms since 1970.
-- Why     The explanation is about the reported number, and not about a number that would be computed now.

-- name: find_taken_in
-- Returns the last batch that was rolled up, and the number of batches that landed after it.
SELECT taken.batch_id::VARCHAR AS batch,
  (SELECT count(*) FROM batch WHERE batch.batch_id > coalesce(taken.batch_id, -1))::DOUBLE AS waiting
FROM (SELECT max(after_batch) AS batch_id FROM stream_setting) AS taken;

-- name: find_nearest_days
-- Returns the days with energy of a device ($device) before and after $day.
SELECT
  max(day) FILTER (day < $day::DATE)::VARCHAR AS before,
  min(day) FILTER (day > $day::DATE)::VARCHAR AS after
FROM daily_energy WHERE device = $device::UUID;

-- name: find_series
-- Returns the series of a device ($device), in the order of the configuration.
SELECT series.series_id, series.source, series.stream_id, stream_setting.table_name, stream_setting.field,
  stream_setting.as_source, stream_setting.method,
  series.first_ms::DOUBLE AS first_ms, series.last_ms::DOUBLE AS last_ms
FROM series JOIN stream_setting USING (stream_id)
WHERE series.device = $device::UUID
ORDER BY series.source, stream_setting.position;

-- name: find_day
-- Returns the reported day ($day) of a device ($device) and source ($source).
SELECT energy_wh::DOUBLE AS energy_wh, method, stream_id, flags, coverage, status, version,
  computed_at_ms::DOUBLE AS computed_at_ms, batch_id
FROM daily_energy
WHERE day = $day::DATE AND device = $device::UUID AND source = $source;

-- name: find_missing_sources
-- Returns the declared sources of a device ($device) without energy on a day ($day).
SELECT declared_source.source FROM declared_source
WHERE declared_source.device = $device::UUID
  AND NOT EXISTS (
    SELECT 1 FROM daily_energy
    WHERE daily_energy.device = declared_source.device AND daily_energy.source = declared_source.source
      AND daily_energy.day = $day::DATE
  )
ORDER BY declared_source.source;

-- name: list_flags
-- Returns the bits of the flags.
SELECT bit, flag, meaning FROM quality_flag ORDER BY bit;
