-- The most power that is plausible for every register in context, whether each step of any series in context is looked at, whether all
-- readings of all series are in context, and whether registers may be steady (see mark-steady). A series that resumes is not whole: its
-- readings before first_ms are counted already, in the stored interval that is added to the new one.
SELECT min(max_power_w) AS least_power_w, coalesce(bool_or(needs_all), true) AS needs_all,
  count(*) FILTER (WHERE NOT is_partial AND NOT resumes) = (SELECT count(*) FROM series) AS is_whole,
  coalesce(bool_or(NOT is_partial AND NOT needs_all), false) AS may_be_steady
FROM context;
