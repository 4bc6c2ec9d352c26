-- The most power that is plausible for every register in context, and whether each step of any series in context is looked at.
SELECT min(max_power_w) AS least_power_w, coalesce(bool_or(needs_all), true) AS needs_all FROM context;
