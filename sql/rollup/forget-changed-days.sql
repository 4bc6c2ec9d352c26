-- Removes the days that have changed.
DELETE FROM daily_energy USING day_change c
WHERE daily_energy.day = c.day AND daily_energy.device = c.device AND daily_energy.source = c.source;
