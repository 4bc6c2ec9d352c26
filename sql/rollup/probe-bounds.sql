-- Around which times neighbours are looked for.
SELECT min(from_ms) AS low_ms, max(to_ms) AS high_ms FROM probe;
