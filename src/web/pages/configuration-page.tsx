import { useContext, useState } from 'preact/hooks';
import type { AuditEntries, PipelineStatus, Tokens } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { RARE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { DataTable } from '../parts/data-table.tsx';
import { StateWord } from '../parts/state-word.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { countText, plural } from '../words/number-words.ts';
import { sentence } from '../words/sentence.ts';
import { ConfigurationInForce } from './configuration-in-force.tsx';

/** Problems of the configuration, what is in force, tokens, and who did what. */
export function ConfigurationPage() {
  const { workgroup } = useContext(PageWorkContext);
  return (
    <>
      <div class="page-head">
        <h1>Configuration</h1>
      </div>
      {workgroup.maySeeAll && <Problems />}
      <ConfigurationInForce />
      {workgroup.maySeeAll && workgroup.mayOperate && <TokenList />}
      {workgroup.maySeeAll && workgroup.mayAudit && <AuditTrail />}
    </>
  );
}

function Problems() {
  const status = useAnswer<PipelineStatus>('status');
  return (
    <section class="card" aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      <Shown of={status} what="the problems" height={100}>
        {({ problems }) =>
          problems.length === 0 ? (
            <Empty title="No problem">The data do not contradict the configuration.</Empty>
          ) : (
            <>
              <p class="sentence">
                {plural(problems.length, 'setting')} {problems.length === 1 ? 'contradicts' : 'contradict'}{' '}
                the data. Change the {problems.length === 1 ? 'setting' : 'settings'}, then run{' '}
                <code>wattline reload</code>.
              </p>
              <DataTable
                caption="Problems"
                rows={problems.map((problem, index) => ({ ...problem, index }))}
                keyOf={({ index }) => String(index)}
                columns={[
                  { title: 'Setting', cell: ({ path }) => <code>{path}</code> },
                  { title: 'Problem', cell: ({ message }) => sentence(message) },
                ]}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function TokenList() {
  const answer = useAnswer<Tokens>('tokens', RARE_MS);
  return (
    <section class="card" aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      <Shown of={answer} what="the tokens" height={100}>
        {({ tokens, total }) =>
          tokens.length === 0 ? (
            <Empty title="No tokens">
              Make one with <code>wattline token create</code>.
            </Empty>
          ) : (
            <>
              <p class="sentence">
                {countText(tokens.filter(({ state }) => state === 'active').length)} of{' '}
                {plural(total, 'token')} can be used. A token itself is stored nowhere, so it cannot be shown.
              </p>
              <DataTable
                caption="Tokens, newest first"
                rows={tokens}
                keyOf={({ id }) => id}
                columns={[
                  { title: 'For', cell: ({ subject }) => subject },
                  { title: 'State', cell: ({ state }) => <TokenState state={state} /> },
                  { title: 'Permissions', cell: ({ permissions }) => permissions.join(', ') },
                  {
                    title: 'Devices',
                    cell: ({ deviceGroups }) => deviceGroups?.join(', ') ?? 'all',
                  },
                  { title: 'Made', cell: ({ issuedAt }) => <DayTime at={issuedAt} /> },
                  {
                    title: 'Ends',
                    cell: ({ expiresAt, revokedAt }) => <DayTime at={revokedAt ?? expiresAt} />,
                  },
                  { title: 'Id', cell: ({ id }) => <code>{id}</code> },
                ]}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function TokenState({ state }: { state: Tokens['tokens'][number]['state'] }) {
  const kinds = { active: 'good', expired: 'calm', revoked: 'bad' } as const;
  return <StateWord kind={kinds[state]}>{state}</StateWord>;
}

function AuditTrail() {
  const [before, setBefore] = useState<string | undefined>();
  const answer = useAnswer<AuditEntries>(
    `audit${before === undefined ? '' : `?before=${encodeURIComponent(before)}`}`,
    before === undefined ? SLOW_MS : 'once',
  );
  return (
    <section class="card" aria-labelledby="audit">
      <h2 id="audit">Who did what</h2>
      <Shown of={answer} what="the audit log" height={200}>
        {({ entries, next }) =>
          entries.length === 0 ? (
            <Empty title="Nothing yet">Changes by people and by tokens are listed here.</Empty>
          ) : (
            <>
              <p class="sentence">
                {before === undefined ? 'The newest' : 'Older'} {plural(entries.length, 'entry', 'entries')}{' '}
                of the audit log, newest first. New entries are added, and none is ever changed.
              </p>
              <DataTable
                caption="Audit log, newest first"
                rows={entries.map((entry, index) => ({ ...entry, index }))}
                keyOf={({ index, at }) => `${at} ${index}`}
                columns={[
                  { title: 'When', cell: ({ at }) => <DayTime at={at} /> },
                  { title: 'Who', cell: ({ actor }) => nameOfActor(actor) },
                  { title: 'What', cell: ({ action }) => action?.replaceAll(/[._]/g, ' ') ?? '–' },
                  { title: 'On', cell: ({ target }) => <code class="received">{target ?? '–'}</code> },
                  {
                    title: 'More',
                    cell: ({ data }) => (data ? <span class="received">{factsInWords(data)}</span> : ''),
                  },
                ]}
              />
              <div class="buttons">
                {before !== undefined && (
                  <button type="button" class="button quiet" onClick={() => setBefore(undefined)}>
                    Newest
                  </button>
                )}
                {next !== null && (
                  <button type="button" class="button quiet" onClick={() => setBefore(next)}>
                    Older
                  </button>
                )}
              </div>
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** Such as "rows: 22, reason: by hand". The id of the entry itself is for machines. */
function factsInWords(data: Readonly<Record<string, unknown>>): string {
  return Object.entries(data)
    .filter(([name]) => name !== 'entry')
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ');
}

/** The id of the token is for machines. */
function nameOfActor(actor: string | null): string {
  return actor?.replace(/^token:\S+ /, '').replace(/^local:/, '') ?? '–';
}
