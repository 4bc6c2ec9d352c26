-- What is stored of the intervals in which series in context go on. $low_ms, $high_ms: bounds of the context.
-- resumed: as interval_energy
CREATE OR REPLACE TEMP TABLE resumed AS
SELECT i.*
FROM interval_energy i
JOIN context c ON c.resumes AND c.series_id = i.series_id AND c.lo_ms = i.interval_start_ms
WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;
