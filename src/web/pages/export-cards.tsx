import { useContext } from 'preact/hooks';
import type { ExportList } from '../facts/answers.ts';
import { operatePaths } from '../facts/operate-paths.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { useAnswer } from '../facts/use-answer.ts';
import { useSend } from '../facts/use-send.ts';
import { DataTable } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { StateWord } from '../parts/state-word.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { countText, exactEnergy, plural } from '../words/number-words.ts';
import { sentence } from '../words/sentence.ts';
import { dayAndMonth, periodName } from '../words/time-words.ts';

type Export = ExportList['exports'][number];
type Run = Export['runs'][number];

/** Each configured export: its next run, its last ones, what waits, and what is outdated. */
export function ExportCards() {
  const exportList = useAnswer<ExportList>('exports');
  return (
    <section class="card" aria-labelledby="exports">
      <h2 id="exports">Scheduled exports</h2>
      <Shown of={exportList} what="the exports" height={200}>
        {({ exports }) =>
          exports.length === 0 ? (
            <Empty title="No exports">
              List <code>exports</code> in the configuration to have reports written to files, to S3 or to a
              webhook.
            </Empty>
          ) : (
            <>
              <p class="sentence">{exportsSentence(exports)}</p>
              {exports.map((one) => (
                <OneExport key={one.id} of={one} refresh={exportList.refresh} />
              ))}
            </>
          )
        }
      </Shown>
    </section>
  );
}

function exportsSentence(exports: readonly Export[]): string {
  const sumOf = (count: 'failed' | 'pending' | 'outdated') =>
    exports.reduce((total, { [count]: files }) => total + files, 0);
  const failed = sumOf('failed');
  const pending = sumOf('pending');
  const outdated = sumOf('outdated');
  const parts = [
    failed > 0 && `${plural(failed, 'file')} could not be delivered.`,
    pending > 0 && `${plural(pending, 'file')} ${pending === 1 ? 'waits' : 'wait'} for delivery.`,
    outdated > 0 && `${plural(outdated, 'delivered file')} ${outdated === 1 ? 'is' : 'are'} outdated.`,
  ].filter(Boolean);
  return `${plural(exports.length, 'export')}. ${parts.length === 0 ? 'Everything that was due is delivered and still right.' : parts.join(' ')}`;
}

function OneExport({ of: one, refresh }: { of: Export; refresh(): void }) {
  const { workgroup } = useContext(PageWorkContext);
  const { isBusy, problem, send } = useSend();
  const run = async () => {
    await send(operatePaths.runExport(one.id));
    refresh();
  };
  const { id, report, range, format, destination, schedule, nextAt, runs, runCount, timezone } = one;
  const formatName = format === 'parquet' ? 'Parquet' : format.toUpperCase();
  return (
    <section class="export" aria-label={`Export ${id}`}>
      <div class="card-head">
        <h3>{id}</h3>
        <ExportState of={one} />
      </div>
      <p class="muted">
        {sentence(`${words(report)}, ${words(range)}, as ${formatName} to ${destinations[destination]}`)}{' '}
        {schedule === null ? (
          'It is run by hand.'
        ) : (
          <>
            Next: <DayTime at={nextAt} /> (<code>{schedule}</code>, {timezone}).
          </>
        )}
      </p>
      {runs.length > 0 && (
        <DataTable
          caption={`Runs of ${id}, newest first`}
          rows={runs}
          keyOf={({ name }) => name}
          columns={[
            {
              title: 'Period',
              cell: ({ startDay, endDay, revision }) =>
                `${periodName({ from: startDay, to: endDay })}${revision > 1 ? `, revision ${revision}` : ''}`,
            },
            { title: 'State', cell: (run) => <RunState run={run} /> },
            { title: 'Delivered', cell: ({ deliveredAt }) => <DayTime at={deliveredAt} /> },
            { title: 'Rows', isNumber: true, cell: ({ file }) => (file ? countText(file.rows) : '–') },
            { title: 'Energy', isNumber: true, cell: ({ file }) => <EnergyAmount wh={file?.energyWh} /> },
            { title: 'File', cell: ({ file }) => file?.name ?? '–' },
            ...(runs.some(hasNote) ? [{ title: 'Note', cell: (run: Run) => <RunNote run={run} /> }] : []),
          ]}
        />
      )}
      {problem && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {workgroup.mayOperate && (
        <div class="buttons">
          <button type="button" class="button" disabled={isBusy} onClick={() => void run()}>
            Run now<span class="visually-hidden">: {id}</span>
          </button>
        </div>
      )}
      {runCount > runs.length && (
        <p class="muted">
          The newest {runs.length} of {plural(runCount, 'run')} are shown.
        </p>
      )}
    </section>
  );
}

function ExportState({ of: { failed, outdated, pending, runs } }: { of: Export }) {
  if (failed > 0) return <StateWord kind="bad">{`${plural(failed, 'file')} failed`}</StateWord>;
  if (outdated > 0) return <StateWord kind="doubtful">{`${plural(outdated, 'file')} outdated`}</StateWord>;
  if (pending > 0) return <StateWord kind="noted">{`${plural(pending, 'file')} waiting`}</StateWord>;
  if (runs.length === 0) return <StateWord kind="calm">not run yet</StateWord>;
  return <StateWord kind="good">delivered</StateWord>;
}

function RunState({ run: { state, outdated } }: { run: Run }) {
  if (outdated) return <StateWord kind="doubtful">outdated</StateWord>;
  const kinds = { planned: 'noted', waiting: 'noted', delivered: 'good', failed: 'bad' } as const;
  return <StateWord kind={kinds[state]}>{state}</StateWord>;
}

const hasNote = ({ outdated, lastError, state }: Run) =>
  Boolean(outdated) || (state !== 'delivered' && Boolean(lastError));

/** Why a run waits or is outdated. */
function RunNote({ run }: { run: Run }) {
  const { outdated, lastError, nextAttemptAt, attempts } = run;
  if (outdated)
    return (
      <details>
        <summary>{plural(outdated.dayCount, 'day')} changed since delivery</summary>
        <ul class="plain">
          {outdated.days.map(({ day, beforeWh, afterWh }) => (
            <li key={day}>
              {dayAndMonth(day)}: {beforeWh === null ? 'nothing' : exactEnergy(beforeWh)} →{' '}
              {afterWh === null ? 'nothing' : exactEnergy(afterWh)}
            </li>
          ))}
          {outdated.dayCount > outdated.days.length && (
            <li class="muted">And {countText(outdated.dayCount - outdated.days.length)} more.</li>
          )}
        </ul>
      </details>
    );
  if (hasNote(run) && lastError)
    return (
      <>
        {lastError.message} ({plural(attempts, 'attempt')}
        {nextAttemptAt && (
          <>
            , next <DayTime at={nextAttemptAt} />
          </>
        )}
        )
      </>
    );
  return null;
}

const destinations = {
  folder: 'a folder',
  s3: 'S3',
  webhook: 'a webhook',
  email: 'email',
  homeAssistant: 'Home Assistant',
} as const;
const words = (name: string) => name.replaceAll(/[_-]/g, ' ');
