-- Days that are read from another method, because the first one in order must be wrong.

INSERT INTO quality_flag VALUES
  (4096, 'substituted', 'the first method that covers the day is contradicted by the others, so the day is read from another one');
UPDATE quality_flag SET meaning = 'another method that covers the day measured something else, by more than a tenth' WHERE flag = 'contradicted';
