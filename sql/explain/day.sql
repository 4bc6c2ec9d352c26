-- What is reported of a day ($day) of a device ($device) and source ($source).
SELECT d.energy_wh::DOUBLE AS energy_wh, d.method, d.stream_id, d.flags, d.coverage, d.status, d.version,
  d.computed_at_ms::DOUBLE AS computed_at_ms, d.batch_id
FROM daily_energy d
WHERE d.day = $day::DATE AND d.device = $device::UUID AND d.source = $source;
