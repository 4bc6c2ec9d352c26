-- The readings in context of the series that are not steady, between two bounds that all of them lie within.
CREATE OR REPLACE TEMP MACRO context_reading(low_ms, high_ms) AS TABLE
SELECT r.series_id, r.event_time_ms, r.value
FROM reading r
JOIN (SELECT series_id, first_ms, last_ms FROM context WHERE NOT is_steady) AS c ON c.series_id = r.series_id
WHERE r.event_time_ms BETWEEN low_ms AND high_ms
  -- Differences, because comparisons of the two sides would join the join's conditions, which costs three times as much.
  AND r.event_time_ms - c.first_ms >= 0 AND c.last_ms - r.event_time_ms >= 0;
