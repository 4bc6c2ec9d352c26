-- Stores what is new.
INSERT INTO meter_reading BY NAME
SELECT meter_code, start_at AS start_ms, end_at AS end_ms, energy_wh, direction, detail AS quality, $from_register AS from_register, revision, $now_ms AS received_at_ms, $upload_id AS upload_id
FROM incoming WHERE NOT is_same ORDER BY meter_code, start_at;
