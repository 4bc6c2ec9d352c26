import type { Imports } from '../facts/answers.ts';
import { useAnswer } from '../facts/use-answer.ts';
import { DataTable } from '../parts/data-table.tsx';
import { ExactShare } from '../parts/exact-number.tsx';
import { StateWord } from '../parts/state-word.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { TimeAgo } from '../parts/time-text.tsx';
import { identifierWords } from '../words/identifier-words.ts';
import { countText, plural } from '../words/number-words.ts';

type Import = Imports['imports'][number];

/** Files that were imported, and what became of their rows. */
export function PipelineImports() {
  const imports = useAnswer<Imports>('imports');
  return (
    <section class="card" aria-labelledby="imports">
      <h2 id="imports">Imports</h2>
      <Shown of={imports} what="the imports" height={100}>
        {({ imports, next }) =>
          imports.length === 0 ? (
            <Empty title="No imports">
              No file was imported. <code>wattline import</code> reads CSV, Parquet and JSON.
            </Empty>
          ) : (
            <>
              <p class="sentence">{importsSentence(imports)}</p>
              <DataTable
                caption="Imports, newest first"
                rows={imports}
                keyOf={({ id }) => String(id)}
                columns={[
                  { title: 'File', cell: ({ file }) => file },
                  { title: 'Table', cell: ({ table }) => table },
                  { title: 'State', cell: (one) => <ImportState of={one} /> },
                  { title: 'Rows', isNumber: true, cell: ({ rowsLanded }) => countText(rowsLanded) },
                  { title: 'Refused', isNumber: true, cell: ({ rowsRejected }) => countText(rowsRejected) },
                  {
                    title: 'Refused because of',
                    cell: ({ rejected }) =>
                      Object.entries(rejected)
                        .map(([reason, count]) => `${identifierWords(reason)} (${countText(count)})`)
                        .join(', '),
                  },
                  { title: 'Started', cell: ({ startedAt }) => <TimeAgo at={startedAt} /> },
                ]}
              />
              {next !== null && <p class="muted">Older imports are listed by the API.</p>}
            </>
          )
        }
      </Shown>
    </section>
  );
}

function importsSentence(imports: readonly Import[]): string {
  const count = (state: Import['state']) => imports.filter((one) => one.state === state).length;
  const [running, stopped] = [count('running'), count('interrupted')];
  const refused = imports.reduce((sum, { rowsRejected }) => sum + rowsRejected, 0);
  return [
    `${plural(imports.length, 'file')}.`,
    running > 0 && `${countText(running)} ${running === 1 ? 'is' : 'are'} being imported now.`,
    stopped > 0 &&
      `${countText(stopped)} stopped before the end; import the same ${stopped === 1 ? 'file' : 'files'} again to continue.`,
    refused > 0 ? `${plural(refused, 'row')} could not be used.` : 'No row was refused.',
  ]
    .filter(Boolean)
    .join(' ');
}

function ImportState({ of: { state, rowsRead, rowsExpected } }: { of: Import }) {
  switch (state) {
    case 'running': {
      const part = rowsExpected ? Math.min(1, rowsRead / rowsExpected) : undefined;
      return (
        <span class="progress-words">
          <progress max={1} aria-label="Progress" {...(part !== undefined && { value: part })} />{' '}
          {part === undefined ? plural(rowsRead, 'row') : <ExactShare share={part} />}
        </span>
      );
    }
    case 'landed':
      return <StateWord kind="good">imported</StateWord>;
    case 'interrupted':
      return <StateWord kind="doubtful">stopped</StateWord>;
    case 'dropped':
      return <StateWord kind="bad">none of it counts</StateWord>;
    default:
      return state satisfies never;
  }
}
