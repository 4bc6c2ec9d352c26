-- Every version of a day ($day) of a device ($device) and source ($source), the current one among them although its day may not be over.
-- causes: what brought it about, of versions of days that were over
SELECT energy_wh::DOUBLE AS energy_wh, method, flags, coverage, version, computed_at_ms::DOUBLE AS computed_at_ms, batch_id, any_value(causes) AS causes
FROM (
  SELECT energy_wh, method, flags, coverage, version, computed_at_ms, batch_id, causes
  FROM daily_energy_history WHERE day = $day::DATE AND device = $device::UUID AND source = $source
  UNION ALL
  SELECT energy_wh, method, flags, coverage, version, computed_at_ms, batch_id, NULL
  FROM daily_energy WHERE day = $day::DATE AND device = $device::UUID AND source = $source
)
GROUP BY ALL
ORDER BY version, computed_at_ms;
