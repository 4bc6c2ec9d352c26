-- The bits of flags.
SELECT bit, flag, meaning FROM quality_flag ORDER BY bit;
