-- The tables of the telemetry that is kept, those first whose names resemble $table, and how many messages each has.
SELECT n.name AS table_name, m.message_count::DOUBLE AS messages
FROM (SELECT table_id, count(*) AS message_count FROM message WHERE kind = 0 GROUP BY table_id) AS m
JOIN name n ON n.name_id = m.table_id
ORDER BY jaro_winkler_similarity(lower(n.name), lower($table)) DESC, n.name;
