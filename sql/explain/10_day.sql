-- 10 Day: what the report says about a day, and which series the device has.
--
-- Reads   stream_setting, batch, series, daily_energy, declared_source, quality_flag.
-- Writes  nothing. Energy in Wh, instants in ms since 1970.
-- Why     The explanation is about the reported number, and not about a number that would be computed now.

-- name: find_taken_in
-- Returns the last batch that was rolled up, and the number of batches that landed after it.
SELECT taken.batch_id::VARCHAR AS batch,
  (SELECT count(*) FROM batch bt WHERE bt.batch_id > coalesce(taken.batch_id, -1))::DOUBLE AS waiting
FROM (SELECT max(after_batch) AS batch_id FROM stream_setting) AS taken;

-- name: find_nearest_days
-- Returns the days with energy of a device ($device) before and after $day.
SELECT
  max(day) FILTER (day < $day::DATE)::VARCHAR AS before,
  min(day) FILTER (day > $day::DATE)::VARCHAR AS after
FROM daily_energy WHERE device = $device::UUID;

-- name: find_series
-- Returns the series of a device ($device), in the order of the configuration.
SELECT se.series_id, se.source, se.stream_id, ss.table_name, ss.field, ss.as_source, ss.method,
  se.first_ms::DOUBLE AS first_ms, se.last_ms::DOUBLE AS last_ms
FROM series se JOIN stream_setting ss USING (stream_id)
WHERE se.device = $device::UUID
ORDER BY se.source, ss.position;

-- name: find_day
-- Returns the reported day ($day) of a device ($device) and source ($source).
SELECT de.energy_wh::DOUBLE AS energy_wh, de.method, de.stream_id, de.flags, de.coverage, de.status, de.version,
  de.computed_at_ms::DOUBLE AS computed_at_ms, de.batch_id
FROM daily_energy de
WHERE de.day = $day::DATE AND de.device = $device::UUID AND de.source = $source;

-- name: find_missing_sources
-- Returns the declared sources of a device ($device) without energy on a day ($day).
SELECT ds.source FROM declared_source ds
WHERE ds.device = $device::UUID
  AND NOT EXISTS (
    SELECT 1 FROM daily_energy de WHERE de.device = ds.device AND de.source = ds.source AND de.day = $day::DATE
  )
ORDER BY ds.source;

-- name: list_flags
-- Returns the bits of the flags.
SELECT bit, flag, meaning FROM quality_flag ORDER BY bit;
