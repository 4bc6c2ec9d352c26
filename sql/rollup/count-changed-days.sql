-- How many days have changed.
SELECT count(*) AS count FROM day_change;
