-- How many intervals are in context.
SELECT coalesce(sum((hi_ms - lo_ms) // 900000), 0)::BIGINT AS intervals FROM context;
