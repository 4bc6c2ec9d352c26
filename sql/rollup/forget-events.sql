-- Removes events that are no longer so.
DELETE FROM energy_event USING changed_event c
WHERE NOT c.is_new AND energy_event.series_id = c.series_id AND energy_event.kind = c.kind AND energy_event.from_ms = c.from_ms
  AND energy_event.to_ms = c.to_ms;
