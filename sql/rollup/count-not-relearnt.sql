-- How many series in context keep their rules.
SELECT count(*) AS count FROM context WHERE series_id NOT IN (SELECT series_id FROM relearnt);
