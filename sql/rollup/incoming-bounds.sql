-- Event times of the first and last new reading, and whether one of them came more than once.
SELECT min(event_time_ms) AS low_ms, max(event_time_ms) AS high_ms, coalesce(max(times) > 1, false) AS repeated FROM incoming;
