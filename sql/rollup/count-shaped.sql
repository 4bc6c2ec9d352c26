-- How many registers have silences to compute again.
SELECT count(*) AS count FROM shaped;
