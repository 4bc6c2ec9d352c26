-- The parts of the divided context.
SELECT DISTINCT part FROM divided_context ORDER BY part;
