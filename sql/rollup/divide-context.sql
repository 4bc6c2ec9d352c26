-- The context in parts of whole devices, of about $intervals_max intervals each, or of one device that has more.
-- divided_context: context's columns, part
CREATE OR REPLACE TEMP TABLE divided_context AS
SELECT c.*, (sum((c.hi_ms - c.lo_ms) // 900000) OVER (ORDER BY r.device) // $intervals_max::BIGINT)::INTEGER AS part
FROM context c JOIN series_rule r USING (series_id);
