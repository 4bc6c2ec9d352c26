-- How many readings do not count.
SELECT count(*) AS count FROM superseded;
