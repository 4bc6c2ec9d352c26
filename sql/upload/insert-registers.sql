-- Stores what is new.
INSERT INTO meter_register BY NAME
SELECT meter_code, start_at AS at_ms, energy_wh AS value_wh, direction, detail AS quality, revision, $upload_id AS upload_id
FROM incoming WHERE NOT is_same ORDER BY meter_code, start_at;
