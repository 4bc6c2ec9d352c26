-- Event times of the first and last new reading.
SELECT min(event_time_ms) AS low_ms, max(event_time_ms) AS high_ms FROM incoming;
