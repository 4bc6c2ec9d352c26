-- 10 Day: what the report says about a day, and which series the device has.
--
-- Reads   stream_setting, batch, series, daily_energy, declared_source, quality_flag.
-- Writes  nothing. Energy in Wh, instants in ms since 1970.
-- Why     The explanation is about the reported number, and not about a number that would be computed now.

-- name: find_taken_in
-- Returns the last batch that was rolled up, and the number of batches that landed after it.
SELECT t.batch_id::VARCHAR AS batch, (SELECT count(*) FROM batch b WHERE b.batch_id > coalesce(t.batch_id, -1))::DOUBLE AS waiting
FROM (SELECT max(after_batch) AS batch_id FROM stream_setting) AS t;

-- name: find_nearest_days
-- Returns the days with energy of a device ($device) before and after $day.
SELECT
  max(day) FILTER (day < $day::DATE)::VARCHAR AS before,
  min(day) FILTER (day > $day::DATE)::VARCHAR AS after
FROM daily_energy WHERE device = $device::UUID;

-- name: find_series
-- Returns the series of a device ($device), in the order of the configuration.
SELECT s.series_id, s.source, s.stream_id, t.table_name, t.field, t.as_source, t.method, s.first_ms::DOUBLE AS first_ms, s.last_ms::DOUBLE AS last_ms
FROM series s JOIN stream_setting t USING (stream_id)
WHERE s.device = $device::UUID
ORDER BY s.source, t.position;

-- name: find_day
-- Returns the reported day ($day) of a device ($device) and source ($source).
SELECT d.energy_wh::DOUBLE AS energy_wh, d.method, d.stream_id, d.flags, d.coverage, d.status, d.version,
  d.computed_at_ms::DOUBLE AS computed_at_ms, d.batch_id
FROM daily_energy d
WHERE d.day = $day::DATE AND d.device = $device::UUID AND d.source = $source;

-- name: find_missing_sources
-- Returns the declared sources of a device ($device) without energy on a day ($day).
SELECT s.source FROM declared_source s
WHERE s.device = $device::UUID
  AND NOT EXISTS (SELECT 1 FROM daily_energy d WHERE d.device = s.device AND d.source = s.source AND d.day = $day::DATE)
ORDER BY s.source;

-- name: list_flags
-- Returns the bits of the flags.
SELECT bit, flag, meaning FROM quality_flag ORDER BY bit;
