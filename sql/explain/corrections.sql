-- The corrections of a device ($device) and source ($source) with a part in a day ($day, from $start_ms to $end_ms), undone ones and undos among them, and
-- what each made of the day as it was made.
SELECT c.correction_id::INTEGER AS correction_id, c.kind, c.from_ms::DOUBLE AS from_ms, c.to_ms::DOUBLE AS to_ms, c.table_name, c.field,
  c.day::VARCHAR AS day, c.energy_wh::DOUBLE AS energy_wh, c.undoes::INTEGER AS undoes, u.correction_id::INTEGER AS undone_by, c.reason, c.author,
  c.created_at_ms::DOUBLE AS created_at_ms, e.correction_id IS NOT NULL AS has_changed, e.before_wh::DOUBLE AS before_wh, e.after_wh::DOUBLE AS after_wh
FROM correction c
LEFT JOIN correction u ON u.undoes = c.correction_id
LEFT JOIN correction_effect e ON e.correction_id = c.correction_id AND e.day = $day::DATE AND e.device = c.device AND e.source = c.source
WHERE c.device = $device::UUID AND c.source = $source AND c.from_ms < $end_ms::BIGINT AND c.to_ms > $start_ms::BIGINT
ORDER BY c.correction_id;
