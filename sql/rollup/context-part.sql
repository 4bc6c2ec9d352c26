-- One part of the divided context as the context. $part: which.
CREATE OR REPLACE TEMP TABLE context AS SELECT * EXCLUDE (part) FROM divided_context WHERE part = $part;
