-- The energy of devices by local day.
--
-- Reads  source_day (day, told_day, device, source, energy_wh, rise_wh, fall_wh, methods, flags, coverage, status, version, computed_at), one row
--        for each source that has energy on a local day: told_day is the day of another zone that this part of it belongs to, else the same;
--        rise_wh and fall_wh only where the device counts a part of it; device_source
-- Writes "device_day", one row for each device and day on which one of its sources has energy:
--   day, told_day, device
--   energy_wh     Wh; null where none of the sources that count has any
--   is_mixed (several roles, of which one is told), is_undeclared (of a source nobody says what it is), is_incomplete (a source is missing)
--   methods, flags (of the sources that count, and mixed, undeclared, incomplete), coverage (the least), status, version, computed_at
WITH chosen AS (
  SELECT d.*, coalesce(s.counts, true) AS counts, s.role, s.is_mixed, s.counting_sources, s.lacking_sources, s.lacking_max, s.lacks_with_energy,
    CASE s.part WHEN 'rise' THEN d.rise_wh WHEN 'fall' THEN d.fall_wh ELSE d.energy_wh END AS part_wh
  FROM source_day d
  LEFT JOIN device_source s ON s.device = d.device AND s.source = d.source
    AND (s.valid_from IS NULL OR d.day >= s.valid_from) AND (s.valid_to IS NULL OR d.day <= s.valid_to)
),
summed AS (
  SELECT day, told_day, device,
    CASE WHEN bool_and(part_wh IS NOT NULL) FILTER (counts) THEN sum(part_wh) FILTER (counts) END::BIGINT AS device_wh,
    count(*) FILTER (counts AND role IS NOT NULL) < max(counting_sources) AS lacks_source,
    max(lacking_sources) + count(*) FILTER (lacks_with_energy) > max(lacking_max) AS lacks_role,
    bool_or(is_mixed) AS has_several_roles,
    coalesce(list_sort(list_distinct(flatten(list(methods) FILTER (counts)))), []) AS methods,
    coalesce(flatten(list(flags) FILTER (counts)), []) AS source_flags,
    coalesce(min(coverage) FILTER (counts), 0) AS coverage,
    CASE
      WHEN coalesce(bool_or(status = 'provisional') FILTER (counts), bool_or(status = 'provisional')) THEN 'provisional'
      WHEN coalesce(bool_or(status = 'restated') FILTER (counts), bool_or(status = 'restated')) THEN 'restated'
      ELSE 'final'
    END AS status,
    coalesce(max(version) FILTER (counts), max(version)) AS version,
    coalesce(max(computed_at) FILTER (counts), max(computed_at)) AS computed_at
  FROM chosen
  GROUP BY day, told_day, device
)
SELECT day, told_day, device, device_wh AS energy_wh, methods,
  coalesce(has_several_roles, false) AS is_mixed,
  coalesce(lacks_role, false) AS is_undeclared,
  device_wh IS NULL OR coalesce(lacks_source, false) AS is_incomplete,
  list_sort(list_distinct(list_concat(
    source_flags,
    CASE WHEN is_incomplete THEN ['incomplete'] ELSE [] END,
    CASE WHEN is_mixed THEN ['mixed'] ELSE [] END,
    CASE WHEN is_undeclared THEN ['undeclared'] ELSE [] END
  ))) AS flags,
  coverage, status, version, computed_at
FROM summed
