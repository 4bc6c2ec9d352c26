-- Stores new events.
INSERT INTO energy_event (series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh)
SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM changed_event WHERE is_new;
