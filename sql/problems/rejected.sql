-- Devices and sources of which every reading of a field is rejected: no energy stream of that field has one that is valid.
-- Nulls say that there is nothing to say.
SELECT q.field, q.device::VARCHAR AS device, q.source, max_by(q.reason, q.readings) AS reason, sum(q.readings)::DOUBLE AS readings,
  min(q.text) AS text
FROM (
  SELECT field, device, source, reason, sum(readings) AS readings, min(samples[1]."text") AS text
  FROM rejected_reading
  WHERE reason <> 'null' AND device IS NOT NULL
  GROUP BY field, device, source, reason
) AS q
WHERE NOT EXISTS (
  SELECT 1 FROM series s JOIN energy_stream e USING (stream_id)
  WHERE s.device = q.device AND s.source = q.source AND json_extract_string(e.identity, '$.field') = q.field
)
GROUP BY q.field, q.device, q.source
ORDER BY readings DESC, q.field, q.device, q.source
LIMIT 1000;
