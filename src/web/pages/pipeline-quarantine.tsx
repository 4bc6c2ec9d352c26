import { useContext, useState } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DeviceStatuses, QuarantineAnswer, RetryAnswer } from '../facts/answers.ts';
import { operatePaths } from '../facts/operate-paths.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { deviceName } from '../facts/series.ts';
import { RARE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { useSend } from '../facts/use-send.ts';
import { DataTable } from '../parts/data-table.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { identifierWords } from '../words/identifier-words.ts';
import { plural } from '../words/number-words.ts';
import { retriedWords } from '../words/retried-words.ts';

type Group = QuarantineAnswer['groups'][number];

/** What was received and not used, by reason, and series that cannot be computed. */
export function PipelineQuarantine() {
  const { workgroup } = useContext(PageWorkContext);
  const quarantine = useAnswer<QuarantineAnswer>('quarantine', SLOW_MS);
  const statuses = useAnswer<DeviceStatuses>('device-status', RARE_MS);
  const { isBusy, problem, send } = useSend();
  const [retried, setRetried] = useState<RetryAnswer | undefined>();
  const retry = async () => {
    setRetried(await send<RetryAnswer>(operatePaths.retryQuarantine));
    quarantine.refresh();
  };
  const nameOf = (device: string) => deviceName(device, statuses.answer);
  return (
    <section class="card" aria-labelledby="quarantine">
      <h2 id="quarantine">Quarantine</h2>
      <Shown of={quarantine} what="the quarantine" height={100}>
        {({ total, groups, setAside }) =>
          total === 0 && setAside.length === 0 ? (
            <Empty title="Nothing is set aside">Every message and every value could be used.</Empty>
          ) : (
            <>
              <p class="sentence">
                {total > 0 &&
                  `${plural(total, 'message or value', 'messages and values')} could not be used. `}
                {setAside.length > 0 && `${plural(setAside.length, 'series', 'series')} cannot be computed.`}
              </p>
              {groups.map((group) => (
                <QuarantineGroup key={`${group.kind} ${group.reason}`} group={group} nameOf={nameOf} />
              ))}
              {setAside.length > 0 && <SetAside rows={setAside} nameOf={nameOf} />}
              {problem && (
                <p class="notice" role="alert">
                  {problem}
                </p>
              )}
              {retried && <p role="status">{retriedWords(retried)}</p>}
              {workgroup.mayOperate && (
                <div class="buttons">
                  <button type="button" class="button" disabled={isBusy} onClick={() => void retry()}>
                    Try all of it again
                  </button>
                </div>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

function QuarantineGroup({ group, nameOf }: { group: Group; nameOf(device: string): string }) {
  const { kind, reason, count, devices, firstAt, lastAt, samples } = group;
  return (
    <details class="group">
      <summary>
        <strong>{identifierWords(reason)}</strong>: {plural(count, kind === 'message' ? 'message' : 'value')}
        {devices > 0 && ` of ${plural(devices, 'device')}`}
      </summary>
      <p class="muted">
        From <DayTime at={firstAt} /> to <DayTime at={lastAt} />. {samples.length < count && 'Some of them:'}
      </p>
      <DataTable
        caption={`Samples of ${identifierWords(reason)}`}
        rows={samples.map((sample, index) => ({ ...sample, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          {
            title: 'Device',
            cell: ({ device, source }) =>
              device ? [nameOf(device), source].filter(Boolean).join(' · ') : 'not named',
          },
          { title: 'Field', cell: ({ field }) => field ?? '–' },
          { title: 'Time', cell: ({ eventTime }) => <DayTime at={eventTime} /> },
          {
            title: 'As received',
            cell: ({ text, encoding, bytes }) => (
              <>
                <code class="received">{text ?? '–'}</code>
                {bytes !== null && (
                  <span class="muted">
                    {' '}
                    {encoding === 'hex' ? 'hexadecimal, ' : ''}
                    {plural(bytes, 'byte')}
                  </span>
                )}
              </>
            ),
          },
          { title: 'Problem', cell: ({ detail }) => detail ?? '' },
        ]}
      />
    </details>
  );
}

function SetAside({ rows, nameOf }: { rows: QuarantineAnswer['setAside']; nameOf(device: string): string }) {
  const { workgroup } = useContext(PageWorkContext);
  return (
    <>
      <h3>Series that cannot be computed</h3>
      <DataTable
        caption="Series that cannot be computed"
        rows={rows}
        keyOf={({ device, source, field }) => `${device} ${source} ${field}`}
        columns={[
          {
            title: 'Source',
            cell: ({ device, source }) => (
              <a href={linkTo(workgroup.id, 'devices', { device })}>
                {nameOf(device)} · {source}
              </a>
            ),
          },
          { title: 'Field', cell: ({ field }) => field },
          { title: 'Since', cell: ({ since }) => <DayTime at={since} /> },
          { title: 'Why', cell: ({ error }) => error },
        ]}
      />
    </>
  );
}
