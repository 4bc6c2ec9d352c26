-- The intervals of a series ($series_id) in a day ($start_ms, $end_ms) as they are told, in order: what was corrected in place of what is measured.
-- exact_nwh: billionths of a Wh, as text.
SELECT t.interval_start_ms::DOUBLE AS start_ms, t.energy_wh::DOUBLE AS energy_wh,
  CASE WHEN t.flags & (SELECT bit FROM quality_flag WHERE flag = 'corrected') = 0 THEN i.exact_nwh END AS exact_nwh, t.covered_ms, t.flags
FROM told_interval t
LEFT JOIN interval_energy i ON i.series_id = t.series_id AND i.interval_start_ms = t.interval_start_ms
WHERE t.series_id = $series_id AND t.interval_start_ms >= $start_ms::BIGINT AND t.interval_start_ms < $end_ms::BIGINT
ORDER BY t.interval_start_ms;
