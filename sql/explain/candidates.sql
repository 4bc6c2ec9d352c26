-- The candidates of the traced day of a source ($source): see rollup/day-candidates.
SELECT stream_id, series_id, energy_wh::DOUBLE AS energy_wh, covered_ms::DOUBLE AS covered_ms, coverage, place::INTEGER AS place FROM day_candidate WHERE source = $source;
