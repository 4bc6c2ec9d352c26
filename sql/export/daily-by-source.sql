-- The chosen days as rows, for the files of exports: all that is known of each. energy_wh: Wh; coverage: share of the day, 0 to 1.
SELECT day, device, source, energy_wh, method, list_sort(flags) AS flags, coverage, status, version, computed_at FROM chosen
