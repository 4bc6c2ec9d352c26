-- Which readings of a device ($device) there are, in the order of the configuration.
SELECT s.series_id, s.source, s.stream_id, t.table_name, t.field, t.method, s.first_ms::DOUBLE AS first_ms, s.last_ms::DOUBLE AS last_ms
FROM series s JOIN stream_setting t USING (stream_id)
WHERE s.device = $device::UUID
ORDER BY s.source, t.position;
