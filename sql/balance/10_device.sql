-- 10 Device: the energy of a whole device, by its role.
--
-- Reads   known_source, declared_device, role_span (the declarations of devices and sources), role,
--         chosen (days of sources), source_day (these with their declarations), measured, rule.
-- Writes  "device_source" (which sources count, by ranges of days), "role_day" (days of sources with their
--         declarations), "device_day" (the energy of devices by day), "rise_fall" (rise and fall of net
--         registers).
-- Why     Production and consumption are never added. A device that has both is read from one of them.

-- name: find_device_source
-- Lists which sources add up to the energy of a whole device, by ranges of local days with the same
-- declarations. Different roles are never added: one role is chosen. The declarations decide, and not the
-- data, so other sources do not replace a silent one. One row for each source and stretch of days.
-- The first rule that applies: the total source alone; the declared energyRole; its only role; of several
-- roles the first of table "role" (the device is then mixed); role `other` if there is nothing else; all
-- sources if none has a role. A source that another one of these contains is left out.
-- Reads known_source (device, source): of which there is energy; declared_device (device, total_source,
-- sources, energy_role), the row without a device is that of all; role_span (device, source, role,
-- negative_role, within_device, within_source, valid_from, valid_to); role.
-- device_source:
--   device, source
--   valid_from, valid_to   null: open
--   role, negative_role    null: none is declared
--   counts                 it is part of the energy of the device
--   part                   whole, or the intervals in which it rose (rise) or fell (fall)
--   is_mixed               the device has several roles
--   counting_sources       sources with a role that count: if one of them is silent, the day is incomplete
--   lacking_sources        sources of the device without a declared role
--   lacking_max            more of them than this make the day undeclared; null if they do not matter
--   lacks_with_energy      the source has no role in this range, but has one on other days. On days on which
--                          it has energy, it counts as one more source without a role
WITH own_source AS (
  -- Sources with energy or with a declaration.
  SELECT device, source FROM known_source UNION SELECT device, source FROM role_span
), edge AS (
  -- The days on which a declaration begins or no longer holds. null: the beginning of time.
  SELECT device, NULL::DATE AS day FROM own_source
  UNION SELECT device, valid_from FROM role_span WHERE valid_from IS NOT NULL
  UNION SELECT device, (valid_to + 1)::DATE FROM role_span WHERE valid_to IS NOT NULL
), stretch AS (
  -- The ranges of days between these days.
  SELECT device, day AS valid_from,
    (lead(day) OVER (PARTITION BY device ORDER BY day NULLS FIRST) - 1)::DATE AS valid_to
  FROM edge
), declared AS (
  -- What is declared of each source in each range, and of its device. has_span: on some day it has a role.
  SELECT own_source.device, own_source.source, stretch.valid_from, stretch.valid_to, role_span.role,
    role_span.negative_role,
    CASE WHEN role_span.within_device = own_source.device THEN role_span.within_source END AS within_source,
    EXISTS (
      SELECT 1 FROM role_span WHERE role_span.device = own_source.device AND role_span.source = own_source.source
    ) AS has_span,
    coalesce(declared_device.total_source, all_devices.total_source) AS total_source,
    declared_device.energy_role,
    declared_device.sources IS NULL OR list_contains(declared_device.sources, own_source.source) AS is_wanted
  FROM own_source
  JOIN stretch USING (device)
  LEFT JOIN role_span ON role_span.device = own_source.device AND role_span.source = own_source.source
    AND (role_span.valid_from IS NULL OR role_span.valid_from <= stretch.valid_from)
    AND (role_span.valid_to IS NULL OR role_span.valid_to >= stretch.valid_to)
  LEFT JOIN declared_device ON declared_device.device = own_source.device
  CROSS JOIN (SELECT total_source FROM declared_device WHERE device IS NULL) AS all_devices
), candidate AS (
  -- What is declared, with two facts. is_candidate: the source can count, because no other source that counts
  -- contains it. has_total: the device has its total source.
  SELECT declared.*,
    declared.is_wanted AND NOT coalesce(container.is_wanted AND container.role IS NOT NULL, false) AS is_candidate,
    coalesce(bool_or(declared.source = declared.total_source) OVER devices, false) AS has_total
  FROM declared
  LEFT JOIN declared AS container
    ON container.device = declared.device AND container.source = declared.within_source
      AND container.valid_from IS NOT DISTINCT FROM declared.valid_from
  WINDOW devices AS (PARTITION BY declared.device, declared.valid_from)
), weighed AS (
  -- The candidates, with the roles of their device. first_place and last_place are the same if the device has
  -- only one role.
  SELECT candidate.*,
    min(least(own.place, coalesce(negative.place, own.place))) FILTER (is_candidate) OVER devices AS first_place,
    max(greatest(own.place, coalesce(negative.place, own.place))) FILTER (is_candidate) OVER devices AS last_place,
    coalesce(bool_or(candidate.role = 'other') FILTER (is_candidate) OVER devices, false) AS has_other,
    coalesce(count(*) FILTER (is_candidate AND candidate.role IS NULL AND NOT candidate.has_span) OVER devices, 0)
      AS lacking_sources
  FROM candidate
  LEFT JOIN role AS own ON own.role = candidate.role
  LEFT JOIN role AS negative ON negative.role = candidate.negative_role
  WINDOW devices AS (PARTITION BY candidate.device, candidate.valid_from)
), counted_source AS (
  -- The sources with the one role of their device (chosen_role), and whether they count for it.
  SELECT weighed.*,
    coalesce(weighed.energy_role, role.role, CASE WHEN has_other THEN 'other' END) AS chosen_role,
    CASE
      WHEN has_total THEN source = total_source
      WHEN chosen_role IS NULL THEN is_candidate AND weighed.role IS NULL
      ELSE is_candidate AND coalesce(weighed.role = chosen_role OR negative_role = chosen_role, false)
    END AS counts
  FROM weighed
  LEFT JOIN role ON role.place = weighed.first_place
), explained AS (
  -- These sources, with what decides how they count. is_chosen_by_hand: the declaration of the device says
  -- what its energy is. has_several_roles: its sources have more than one role. counts_in_part: only the rise
  -- or only the fall of a net register counts.
  SELECT *,
    has_total OR energy_role IS NOT NULL AS is_chosen_by_hand,
    coalesce(first_place < last_place, false) AS has_several_roles,
    counts AND NOT has_total AND negative_role IS NOT NULL AS counts_in_part
  FROM counted_source
)
SELECT device, source, valid_from, valid_to, role, negative_role, counts,
  CASE
    WHEN NOT counts_in_part THEN 'whole'
    WHEN role = chosen_role THEN 'rise'
    ELSE 'fall'
  END AS part,
  NOT is_chosen_by_hand AND has_several_roles AS is_mixed,
  (count(*) FILTER (counts AND role IS NOT NULL) OVER devices)::INTEGER AS counting_sources,
  lacking_sources::INTEGER AS lacking_sources,
  CASE
    WHEN is_chosen_by_hand THEN NULL
    -- A single source needs no role, because nothing is added to it.
    WHEN chosen_role IS NULL THEN 1
    ELSE 0
  END AS lacking_max,
  is_candidate AND role IS NULL AND has_span AS lacks_with_energy
FROM explained
WINDOW devices AS (PARTITION BY device, valid_from)
ORDER BY device, source, valid_from NULLS FIRST;

-- name: find_role_days
-- Adds to days of sources what is declared of each source on that day. Reads chosen (day, device, source, and
-- any other columns, which stay); device_source. A source that is not in device_source counts as a whole.
-- Days are compared with coalesce and not with OR: with OR, DuckDB compares each day with each source.
-- role_day:
--   counts, part, role, is_mixed, counting_sources    see find_device_source
--   lacking_sources, lacking_max, lacks_with_energy   see find_device_source
SELECT chosen.*, coalesce(device_source.counts, true) AS counts, device_source.part, device_source.role,
  device_source.is_mixed, device_source.counting_sources, device_source.lacking_sources, device_source.lacking_max,
  device_source.lacks_with_energy
FROM chosen
LEFT JOIN device_source ON device_source.device = chosen.device AND device_source.source = chosen.source
  AND chosen.day >= coalesce(device_source.valid_from, DATE '-infinity')
  AND chosen.day <= coalesce(device_source.valid_to, DATE 'infinity');

-- name: sum_device_day
-- Sums the energy of devices by local day. One row for each device and day on which one of its sources has
-- energy.
-- Reads source_day: role_day (see find_role_days) with reported_day, energy_wh, rise_wh, fall_wh, methods,
-- flags, coverage, status, version and computed_at. It has one row for each source that has energy on a local
-- day. reported_day is the day of another zone that this part of it belongs to, else the same. rise_wh and
-- fall_wh are known only if the device counts a part of it.
-- device_day:
--   day, reported_day, device
--   energy_wh       null if none of the sources that count has energy
--   methods
--   is_mixed        it has several roles, and one of them is used
--   is_undeclared   a source has no declared role
--   is_incomplete   a source is missing
--   flags           of the sources that count, and mixed, undeclared, incomplete
--   coverage        the least of these sources, 0 to 1
--   status, version, computed_at
WITH counted_day AS (
  -- The days of sources, with the energy of the part that counts.
  SELECT *, CASE part WHEN 'rise' THEN rise_wh WHEN 'fall' THEN fall_wh ELSE energy_wh END AS part_wh FROM source_day
), summed AS (
  -- The energy and coverage of the sources that count, and what is missing.
  SELECT day, reported_day, device,
    CASE WHEN bool_and(part_wh IS NOT NULL) FILTER (counts) THEN sum(part_wh) FILTER (counts) END::BIGINT AS device_wh,
    count(*) FILTER (counts AND role IS NOT NULL) < max(counting_sources) AS lacks_source,
    max(lacking_sources) + count(*) FILTER (lacks_with_energy) > max(lacking_max) AS lacks_role,
    bool_or(is_mixed) AS has_several_roles,
    coalesce(list_sort(list_distinct(flatten(list(methods) FILTER (counts)))), []) AS methods,
    coalesce(flatten(list(flags) FILTER (counts)), []) AS source_flags,
    coalesce(min(coverage) FILTER (counts), 0) AS coverage,
    CASE
      WHEN coalesce(bool_or(status = 'provisional') FILTER (counts), bool_or(status = 'provisional'))
        THEN 'provisional'
      WHEN coalesce(bool_or(status = 'restated') FILTER (counts), bool_or(status = 'restated')) THEN 'restated'
      ELSE 'final'
    END AS status,
    coalesce(max(version) FILTER (counts), max(version)) AS version,
    coalesce(max(computed_at) FILTER (counts), max(computed_at)) AS computed_at
  FROM counted_day
  GROUP BY day, reported_day, device
)
SELECT day, reported_day, device, device_wh AS energy_wh, methods,
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
FROM summed;

-- name: sum_rise_fall
-- Sums the rise and the fall of net registers on each local day, if a device counts one of the two. One row
-- for each source and local day. Reads measured (of these sources, see find_measured); rule.
-- rise_fall:
--   day, device, source
--   rise_wh, fall_wh   null if readings are too far apart to separate the two
SELECT own_day AS day, device, source,
  CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN rise END::BIGINT AS rise_wh,
  CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN fall END::BIGINT AS fall_wh
FROM (
  SELECT own_day, device, source, sum(greatest(energy_wh, 0)) AS rise, sum(greatest(-energy_wh, 0)) AS fall,
    coalesce(sum(abs(energy_wh)) FILTER (is_spread), 0) AS spread_wh
  FROM measured
  GROUP BY own_day, device, source
);
