-- Every version of a day ($day) of a device ($device) and source ($source), the current one among them although its day may not be over.
SELECT energy_wh::DOUBLE AS energy_wh, method, flags, coverage, version, computed_at_ms::DOUBLE AS computed_at_ms, batch_id
FROM (
  SELECT energy_wh, method, flags, coverage, version, computed_at_ms, batch_id
  FROM daily_energy_history WHERE day = $day::DATE AND device = $device::UUID AND source = $source
  UNION
  SELECT energy_wh, method, flags, coverage, version, computed_at_ms, batch_id
  FROM daily_energy WHERE day = $day::DATE AND device = $device::UUID AND source = $source
)
ORDER BY version, computed_at_ms;
