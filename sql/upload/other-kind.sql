-- Meters of the upload that have readings of the other kind: from registers, or of intervals.
SELECT i.meter_code, min(i.line)::DOUBLE AS line
FROM incoming i
WHERE CASE WHEN $is_register
  THEN i.meter_code IN (SELECT meter_code FROM meter_reading WHERE replaced_by IS NULL AND NOT from_register)
  ELSE i.meter_code IN (SELECT meter_code FROM meter_register WHERE replaced_by IS NULL) END
GROUP BY ALL ORDER BY ALL;
