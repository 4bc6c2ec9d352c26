-- How many probed stretches have a neighbour that is further away than was looked.
SELECT count(*) AS count
FROM neighbour n JOIN series_rule r USING (series_id)
WHERE (n.prev_ms IS NULL AND r.first_ms < n.from_ms) OR (n.next_ms IS NULL AND r.last_ms > n.to_ms);
