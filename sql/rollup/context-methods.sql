-- Which methods the series in context have, without registers that are steady.
SELECT DISTINCT method FROM context WHERE NOT is_steady;
