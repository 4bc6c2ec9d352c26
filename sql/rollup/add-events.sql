-- The events as judged now. $events: JSON array of objects with the columns of event_now.
-- event_now: series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh
CREATE OR REPLACE TEMP TABLE event_now AS
SELECT unnest(from_json($events::JSON, '[{"series_id":"INTEGER","kind":"VARCHAR","from_ms":"BIGINT","to_ms":"BIGINT","value_before":"DOUBLE","value_after":"DOUBLE","energy_wh":"DOUBLE"}]'), recursive := true);
