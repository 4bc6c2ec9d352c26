-- Everything that the context reaches over.
SELECT min(least(first_ms, lo_ms)) AS low_ms, max(greatest(last_ms, hi_ms)) AS high_ms FROM context;
