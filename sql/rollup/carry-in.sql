-- High-water marks that were held above the reading where a stretch starts.
-- carry_in: series_id, last_ms, last_value (Wh)
CREATE OR REPLACE TEMP TABLE carry_in AS
SELECT i.series_id, i.last_ms, i.last_value
FROM interval_energy i
JOIN raw_step s ON s.series_id = i.series_id AND s.t0 IS NULL AND s.t1 = i.last_ms AND s.v1 < i.last_value
WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;
