-- The readings next to each probed stretch; of series that go on where they ended, the one before is known.
-- neighbour: series_id, from_ms, to_ms, prev_ms (last reading before it), next_ms (first one after it), resumes (at prev_ms)
CREATE OR REPLACE TEMP TABLE neighbour AS
SELECT p.series_id, p.from_ms, p.to_ms, a.prev_ms, NULL::BIGINT AS next_ms, a.prev_ms IS NOT NULL AS resumes
FROM probe p
LEFT JOIN appended a ON a.series_id = p.series_id AND a.from_ms = p.first_ms;
