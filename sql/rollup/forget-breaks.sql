-- Removes the breaks of the stretches that are looked at again.
DELETE FROM series_break USING context c
WHERE series_break.series_id = c.series_id AND series_break.to_ms <= c.last_ms
  AND (series_break.to_ms > c.first_ms OR (series_break.to_ms = c.first_ms AND series_break.from_ms = c.first_ms));
