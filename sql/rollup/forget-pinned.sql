-- Takes out the steps that are cut at a pinned midnight.
DELETE FROM step USING pinned p WHERE step.series_id = p.series_id AND step.t1 = p.t1;
