-- The rows of "chosen" that count in their device, each with the part of it that does. Reads chosen; device_source (see
-- balance/10_device_source); what that does not know counts as a whole.
SELECT c.*, coalesce(s.part, 'whole') AS part
FROM chosen c
LEFT JOIN device_source s ON s.device = c.device AND s.source = c.source
  AND (s.valid_from IS NULL OR c.day >= s.valid_from) AND (s.valid_to IS NULL OR c.day <= s.valid_to)
WHERE coalesce(s.counts, true)
