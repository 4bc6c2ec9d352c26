-- The first and the last local day that have energy.
SELECT min(day)::VARCHAR AS first_day, max(day)::VARCHAR AS last_day FROM daily_energy
