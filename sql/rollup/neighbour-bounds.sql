-- Everything that the probed stretches and their neighbours reach over.
SELECT min(coalesce(prev_ms, from_ms)) AS low_ms, max(coalesce(next_ms, to_ms)) AS high_ms FROM neighbour;
