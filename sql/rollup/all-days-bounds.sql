-- First and last day that may have energy, in any zone.
SELECT
  least(min(day), (SELECT make_timestamp(min(interval_start_ms) * 1000)::DATE FROM interval_energy))::VARCHAR AS first_day,
  greatest(max(day), (SELECT make_timestamp(max(interval_start_ms) * 1000)::DATE FROM interval_energy))::VARCHAR AS last_day
FROM daily_energy;
