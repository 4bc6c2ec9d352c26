-- Declared changes of registers (a replaced meter), by series.
-- register_change: series_id, at_ms, final_value, initial_value (Wh)
CREATE OR REPLACE TEMP TABLE register_change AS
SELECT s.series_id, c.at_ms, c.final_value, c.initial_value
FROM stream_change c
JOIN series s ON s.stream_id = c.stream_id AND s.device = c.device AND (c.source IS NULL OR s.source = c.source);
