-- How many registers in context are steady.
SELECT count(*) AS count FROM context WHERE is_steady;
