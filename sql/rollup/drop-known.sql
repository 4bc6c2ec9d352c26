-- Takes out of incoming what changes nothing.
DELETE FROM incoming USING superseded s
WHERE s.is_new AND incoming.series_id = s.series_id AND incoming.event_time_ms = s.event_time_ms;
