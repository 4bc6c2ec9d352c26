-- Declared register changes of the series in context.
SELECT g.series_id, g.at_ms, g.final_value, g.initial_value
FROM register_change g JOIN context c USING (series_id)
ORDER BY g.series_id, g.at_ms;
