-- As context-readings, where every series is in context as a whole and none is steady: without a look at where each of them begins and ends.
CREATE OR REPLACE TEMP MACRO context_reading(low_ms, high_ms) AS TABLE
SELECT series_id, event_time_ms, value FROM reading WHERE event_time_ms BETWEEN low_ms AND high_ms;
