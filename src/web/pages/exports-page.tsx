import { useContext } from 'preact/hooks';
import { PageWorkContext } from '../facts/page-work.ts';
import { ChangedDays } from './changed-days.tsx';
import { ExportCards } from './export-cards.tsx';

/** The reports that are written to files, and the closed days that have changed. */
export function ExportsPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup } = useContext(PageWorkContext);
  return (
    <>
      <div class="page-head">
        <h1>Exports and changes</h1>
      </div>
      {workgroup.maySeeAll && <ExportCards />}
      <ChangedDays query={query} />
    </>
  );
}
