import { useContext } from 'preact/hooks';
import type { AlertsAnswer } from '../facts/answers.ts';
import { operatePaths } from '../facts/operate-paths.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { useSend } from '../facts/use-send.ts';
import { DataTable } from '../parts/data-table.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { plural } from '../words/number-words.ts';

type Alert = AlertsAnswer['alerts'][number];
const SHOWN = 20;
const SNOOZE_MINUTES = 12 * 60;

/**
 * Open alerts, what people have done with them, and whether the channels take them. Nothing without channels.
 */
export function PipelineAlerts() {
  const { workgroup } = useContext(PageWorkContext);
  const alerts = useAnswer<AlertsAnswer>(`alerts?limit=${SHOWN}`, SLOW_MS);
  const { isBusy, problem, send } = useSend();
  const act = async (path: string, body: object) => {
    await send(path, body);
    alerts.refresh();
  };
  // Most workgroups have no channel. Nothing is shown while the answer is awaited, because a card that
  // disappears again would move the others.
  if (!alerts.answer || alerts.answer.channels.length === 0) return null;
  return (
    <section class="card" aria-labelledby="alerts">
      <h2 id="alerts">Alerts</h2>
      <Shown of={alerts} what="the alerts" height={100}>
        {({ alerts, total, unseen, snoozes, channels }) => (
          <>
            {total === 0 ? (
              <Empty title="No open alert">A message is sent as soon as something needs attention.</Empty>
            ) : (
              <>
                <p class="sentence">
                  {plural(total, 'open alert')}, {unseen} not seen.
                </p>
                <DataTable
                  caption="Open alerts"
                  rows={alerts}
                  keyOf={({ condition, subject }) => `${condition} ${subject}`}
                  columns={[
                    { title: 'Since', cell: ({ since }) => <DayTime at={since} /> },
                    { title: 'Alert', cell: ({ title, text }) => `${title}: ${text}` },
                    { title: 'State', cell: stateWords },
                    ...(workgroup.mayOperate
                      ? [
                          {
                            title: 'Do',
                            cell: ({ condition, subject, seenBy, title }: Alert) =>
                              seenBy === null && (
                                <button
                                  type="button"
                                  class="button"
                                  disabled={isBusy}
                                  aria-label={`Seen: ${title}, ${subject}`}
                                  onClick={() => void act(operatePaths.seeAlerts, { condition, subject })}
                                >
                                  Seen
                                </button>
                              ),
                          },
                        ]
                      : []),
                  ]}
                />
              </>
            )}
            {snoozes.map(({ condition, until }) => (
              <p key={condition} class="muted">
                {condition === 'all' ? 'All alerts are' : `${condition} is`} snoozed until{' '}
                <DayTime at={until} />.
              </p>
            ))}
            {channels
              .filter(({ lastError }) => lastError !== null)
              .map(({ id, lastError }) => (
                <p key={id} class="notice">
                  Channel {id}: {lastError}
                </p>
              ))}
            {problem && (
              <p class="notice" role="alert">
                {problem}
              </p>
            )}
            {workgroup.mayOperate && (
              <div class="buttons">
                <button
                  type="button"
                  class="button"
                  disabled={isBusy}
                  onClick={() =>
                    void act(operatePaths.snoozeAlerts, {
                      condition: 'all',
                      minutes: snoozes.length > 0 ? 0 : SNOOZE_MINUTES,
                    })
                  }
                >
                  {snoozes.length > 0 ? 'Send again' : 'Send nothing for 12 hours'}
                </button>
              </div>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

function stateWords({ known, snoozed, seenBy, sentTo }: Alert): string {
  if (seenBy !== null) return 'seen';
  if (known) return 'known before';
  if (snoozed) return 'snoozed';
  return sentTo.length > 0 ? 'sent' : 'not sent yet';
}
