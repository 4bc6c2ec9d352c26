-- Which series the new readings belong to, as the messages name them.
-- series_key: stream_id, device, source_id, source, first_ms, last_ms
CREATE OR REPLACE TEMP TABLE series_key AS
SELECT k.*, coalesce(n.name, 'default') AS source
FROM (
  SELECT stream_id, device, source_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms
  FROM extracted WHERE reason IS NULL GROUP BY stream_id, device, source_id
) AS k
LEFT JOIN name n ON n.name_id = k.source_id;
