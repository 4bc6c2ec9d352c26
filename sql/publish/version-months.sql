-- Every month (of the local day) that has versions of days, YYYY-MM.
SELECT DISTINCT strftime(day, '%Y-%m') AS month FROM daily_energy_history ORDER BY ALL;
