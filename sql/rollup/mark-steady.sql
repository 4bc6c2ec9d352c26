-- Marks the registers in context that are steady: computed as a whole from readings that have all been looked at before, by a limit no
-- higher, and of which nothing is known but that they grow. Their quarters of an hour say all there is, without a look at each step.
UPDATE context SET is_steady = true
FROM series s JOIN series_rule r USING (series_id)
WHERE s.series_id = context.series_id
  AND NOT context.is_partial AND NOT context.needs_all AND NOT r.within_day
  AND s.steady_power_w <= context.max_power_w
  AND s.series_id NOT IN (SELECT series_id FROM incoming)
  AND s.series_id NOT IN (SELECT series_id FROM series_break)
  AND s.series_id NOT IN (SELECT series_id FROM energy_event)
  AND NOT EXISTS (SELECT 1 FROM series_rule o WHERE o.device = r.device AND o.source = r.source AND o.series_id <> r.series_id);
