import { createHash } from 'node:crypto';
import { loadMigrations, type Migration } from '../../src/warehouse/load-sql.ts';

/** The schema of this program and so many releases after it, which change tables that landing writes. */
export function withExtraMigrations(count: number): Migration[] {
  const released = loadMigrations();
  const extra = Array.from({ length: count }, (_, index): Migration => {
    const number = released.length + index + 1;
    const sql = `
      CREATE TABLE later_${number} (a INTEGER NOT NULL, b VARCHAR);
      INSERT INTO later_${number} SELECT range, 'text ' || range FROM range(1000);
      ALTER TABLE batch ADD COLUMN note_${number} VARCHAR DEFAULT 'none';
      ALTER TABLE checkpoint ADD COLUMN note_${number} INTEGER;
      CREATE VIEW busy_${number} AS SELECT * FROM batch WHERE message_count > 10;
    `;
    const checksum = createHash('sha256').update(sql).digest('hex');
    return { number, file: `${String(number).padStart(3, '0')}_later.sql`, sql, checksum };
  });
  return [...released, ...extra];
}
