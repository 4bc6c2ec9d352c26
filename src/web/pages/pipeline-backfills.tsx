import { useContext, useState } from 'preact/hooks';
import type { Backfills } from '../facts/answers.ts';
import { operatePaths } from '../facts/operate-paths.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { useAnswer } from '../facts/use-answer.ts';
import { useSend } from '../facts/use-send.ts';
import { DataTable, type TableColumn } from '../parts/data-table.tsx';
import { ExactShare } from '../parts/exact-number.tsx';
import { StateWord } from '../parts/state-word.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime, TimeAgo } from '../parts/time-text.tsx';
import { countText, plural } from '../words/number-words.ts';
import { BackfillForm } from './backfill-form.tsx';

type Backfill = Backfills['backfills'][number];

/** Backfills with their progress. New ones are started after a look at what they would read. */
export function PipelineBackfills() {
  const { workgroup } = useContext(PageWorkContext);
  const backfills = useAnswer<Backfills>('backfills');
  const [isAsking, setAsking] = useState(false);
  const { isBusy, problem, send } = useSend();
  const cancel = async (id: number) => {
    await send(operatePaths.backfill(id), undefined, 'DELETE');
    backfills.refresh();
  };
  const action: TableColumn<Backfill> = {
    title: 'Action',
    cell: ({ id, state }) =>
      state === 'running' || state === 'interrupted' ? (
        <button type="button" class="button quiet" disabled={isBusy} onClick={() => void cancel(id)}>
          Cancel<span class="visually-hidden"> backfill {id}</span>
        </button>
      ) : (
        ''
      ),
  };
  return (
    <section class="card" aria-labelledby="backfills">
      <div class="card-head">
        <h2 id="backfills">Backfills</h2>
        {workgroup.mayOperate && !isAsking && (
          <button type="button" class="button" onClick={() => setAsking(true)}>
            Read the past again
          </button>
        )}
      </div>
      {isAsking && (
        <BackfillForm
          onClose={() => setAsking(false)}
          onStarted={() => {
            setAsking(false);
            backfills.refresh();
          }}
        />
      )}
      {problem && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      <Shown of={backfills} what="the backfills" height={100}>
        {({ backfills, total }) =>
          backfills.length === 0 ? (
            <Empty title="No backfill">Nothing of the past was read again.</Empty>
          ) : (
            <>
              <p class="sentence">{backfillsSentence(backfills, total)}</p>
              <DataTable
                caption="Backfills, newest first"
                rows={backfills}
                keyOf={({ id }) => String(id)}
                columns={[
                  { title: 'Backfill', cell: ({ id }) => id },
                  { title: 'What', cell: (one) => <What of={one} /> },
                  { title: 'State', cell: (one) => <BackfillState of={one} /> },
                  {
                    title: 'New messages',
                    isNumber: true,
                    cell: ({ messagesLanded }) => countText(messagesLanded),
                  },
                  { title: 'Started', cell: ({ startedAt }) => <TimeAgo at={startedAt} /> },
                  { title: 'Note', cell: ({ note }) => note ?? '' },
                  ...(workgroup.mayOperate ? [action] : []),
                ]}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function backfillsSentence(backfills: readonly Backfill[], total: number): string {
  const running = backfills.filter(({ state }) => state === 'running').length;
  const stopped = backfills.filter(({ state }) => state === 'interrupted').length;
  return [
    running > 0
      ? `${plural(running, 'backfill')} of ${countText(total)} ${running === 1 ? 'runs' : 'run'} now.`
      : `${plural(total, 'backfill')}, none runs now.`,
    stopped > 0 &&
      `${countText(stopped)} stopped before the end; ${stopped === 1 ? 'the same request continues it' : 'the same requests continue them'}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

const sources: Readonly<Record<string, string>> = {
  stream: 'the stream',
  gaps: 'the gaps of the stream',
  archive: 'stored messages',
  quarantine: 'the quarantine',
};

function What({ of: { source, from, to, table } }: { of: Backfill }) {
  return (
    <>
      {sources[source] ?? source}
      {from && (
        <>
          , <DayTime at={from} /> – {to ? <DayTime at={to} /> : 'now'}
        </>
      )}
      {table && `, table ${table}`}
    </>
  );
}

function BackfillState({ of: { state, progress, pieces, piecesDone } }: { of: Backfill }) {
  switch (state) {
    case 'running': {
      const part = progress?.part ?? (pieces > 0 ? piecesDone / pieces : 0);
      return (
        <span class="progress-words">
          <progress value={part} max={1} aria-label="Progress" /> <ExactShare share={part} />
        </span>
      );
    }
    case 'interrupted':
      return <StateWord kind="doubtful">stopped</StateWord>;
    case 'done':
      return <StateWord kind="good">done</StateWord>;
    case 'cancelled':
      return <StateWord kind="calm">cancelled</StateWord>;
    default:
      return state satisfies never;
  }
}
