-- The readings that count, of the meters and about the times of the upload.
CREATE OR REPLACE TEMP TABLE current_row AS
WITH span AS (SELECT meter_code, min(start_at) AS start_at, max(end_at) AS end_at FROM incoming GROUP BY ALL)
SELECT m.rowid AS row_id, m.meter_code AS key, m.start_ms AS start_at, m.end_ms AS end_at, m.energy_wh, m.direction, m.quality AS detail, m.revision, m.received_at_ms
FROM meter_reading m JOIN span s USING (meter_code)
WHERE m.replaced_by IS NULL AND m.start_ms < s.end_at AND m.end_ms > s.start_at;
