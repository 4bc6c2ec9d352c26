-- The sources and days of "chosen" whose device counts a part of them. Reads chosen; device_source. Read as "wanted" by balance/40_read_from.
SELECT c.device, c.source, c.day AS own_day
FROM chosen c
JOIN device_source s ON s.device = c.device AND s.source = c.source
  AND (s.valid_from IS NULL OR c.day >= s.valid_from) AND (s.valid_to IS NULL OR c.day <= s.valid_to)
WHERE s.counts AND s.part <> 'whole'
