-- Every month (of the local day) that has daily energy, YYYY-MM.
SELECT DISTINCT strftime(day, '%Y-%m') AS month FROM daily_energy ORDER BY ALL;
