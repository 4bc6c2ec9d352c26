-- The readings that count, by meter, and registers of which there is one value only. energy_wh: Wh; faults: intervals in which a register fell.
SELECT
  meter_code AS meter,
  any_value(from_register) AS from_register,
  count(*)::DOUBLE AS readings,
  min(start_ms)::DOUBLE AS first_ms,
  max(end_ms)::DOUBLE AS last_ms,
  sum(energy_wh)::DOUBLE AS energy_wh,
  count(*) FILTER (quality = 'fault')::DOUBLE AS faults,
  max(revision) AS revision,
  max(received_at_ms)::DOUBLE AS uploaded_at_ms
FROM meter_reading
WHERE replaced_by IS NULL
GROUP BY meter_code
UNION ALL
SELECT r.meter_code, true, 0, min(r.at_ms), max(r.at_ms), 0, 0, max(r.revision), max(u.received_at_ms)
FROM meter_register r JOIN upload u USING (upload_id)
WHERE r.replaced_by IS NULL AND r.meter_code NOT IN (SELECT meter_code FROM meter_reading WHERE replaced_by IS NULL)
GROUP BY r.meter_code
ORDER BY ALL;
