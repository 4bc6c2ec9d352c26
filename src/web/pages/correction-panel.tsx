import { useContext, useEffect, useState } from 'preact/hooks';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import type { CorrectionAnswer, Explained, ExplainedSource } from '../facts/answers.ts';
import { askService, RequestError } from '../facts/ask-service.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { countText, exactEnergy } from '../words/number-words.ts';
import { clockTime, dayAndTime, longDay } from '../words/time-words.ts';

type Kind = 'exclude' | 'set_day' | 'fill' | 'undo';
/** A correction before it has a reason. */
interface Draft {
  kind: Kind;
  from?: string | undefined;
  to?: string | undefined;
  energyWh?: number | undefined;
  correction?: number | undefined;
  replace?: boolean;
}

const kindNames: Readonly<Record<Exclude<Kind, 'undo'>, string>> = {
  exclude: 'Leave readings out',
  set_day: 'Set the energy of the day',
  fill: 'Estimate what is missing',
};

/** The corrections of the day, and forms for new ones. Nothing is stored before a person has seen what would change. */
export function CorrectionPanel(props: {
  explained: Explained;
  source: ExplainedSource;
  /** The time of a reading that was chosen in the picture or the table. */
  picked: { from: string; to: string } | undefined;
  onDone(): void;
}) {
  const { explained, source, picked, onDone } = props;
  const { workgroup, zone } = useContext(PageWorkContext);
  const [draft, setDraft] = useState<Draft | undefined>();
  useEffect(() => {
    if (picked && workgroup.mayCorrect) setDraft({ kind: 'exclude', ...picked });
  }, [picked, workgroup]);
  if (!workgroup.mayCorrect && source.corrections.length === 0) return null;
  const close = () => setDraft(undefined);
  return (
    <section class="card" aria-labelledby="corrections" id="correct">
      <h2 id="corrections">Corrections</h2>
      {source.corrections.length === 0 ? (
        <p class="muted">Nobody has corrected this day.</p>
      ) : (
        <ul class="plain corrections">
          {source.corrections.map(({ id, text, reason, author, at, undoneBy, kind }) => (
            <li key={id} class={undoneBy === null ? '' : 'undone'}>
              <p>
                <strong>{id}</strong> {text}
                {undoneBy !== null && <span class="muted"> (undone)</span>}
              </p>
              <p class="muted">
                “{reason}” – {author}, {dayAndTime(at, zone)}
              </p>
              {workgroup.mayCorrect && undoneBy === null && kind !== 'undo' && (
                <button
                  type="button"
                  class="button quiet"
                  onClick={() => setDraft({ kind: 'undo', correction: id })}
                >
                  Undo correction {id}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {workgroup.mayCorrect && !draft && (
        <div class="buttons">
          {(Object.keys(kindNames) as Array<keyof typeof kindNames>).map((kind) => (
            <button
              key={kind}
              type="button"
              class="button"
              onClick={() =>
                setDraft({ kind, ...(kind !== 'set_day' && { from: explained.start, to: explained.end }) })
              }
            >
              {kindNames[kind]}
            </button>
          ))}
        </div>
      )}
      {draft && (
        <CorrectionForm
          key={JSON.stringify(draft)}
          draft={draft}
          explained={explained}
          source={source}
          onClose={close}
          onDone={onDone}
        />
      )}
    </section>
  );
}

function CorrectionForm(props: {
  draft: Draft;
  explained: Explained;
  source: ExplainedSource;
  onClose(): void;
  onDone(): void;
}) {
  const { draft, explained, source, onClose, onDone } = props;
  const { token, root, zone, onSignedOut } = useContext(PageWorkContext);
  const [preview, setPreview] = useState<{ body: unknown; correction: ListedCorrection } | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  const isOne = draft.kind === 'exclude' && draft.from !== explained.start;

  const send = async (body: unknown, dryRun: boolean) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const answered = await askService<CorrectionAnswer>(
        `${root}corrections${dryRun ? '?dryRun=true' : ''}`,
        {
          token,
          method: 'POST',
          body,
        },
      );
      if (dryRun) setPreview({ body, correction: answered!.answer.correction });
      else {
        onClose();
        onDone();
      }
    } catch (error) {
      const failure =
        error instanceof RequestError ? error.failure : { kind: 'refused', message: String(error) };
      if (failure.kind === 'signed-out') onSignedOut(failure.message);
      else setProblem(failure.message);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    if (preview) return void send(preview.body, false);
    const body = bodyOf(draft, new FormData(event.currentTarget as HTMLFormElement), explained, source);
    if (typeof body === 'string') setProblem(body);
    else void send(body, true);
  };
  return (
    <form class="correction-form" onSubmit={onSubmit} onInput={() => setPreview(undefined)}>
      <h3>{draft.kind === 'undo' ? `Undo correction ${draft.correction}` : kindNames[draft.kind]}</h3>
      {isOne && (
        <p>
          The reading of {clockTime(draft.from!, zone, true)} is left out, now and also if it comes again.
        </p>
      )}
      {draft.kind === 'exclude' && !isOne && (
        <TimeFields
          explained={explained}
          help="All readings in this time are left out, also those that come later."
        />
      )}
      {draft.kind === 'fill' && (
        <TimeFields
          explained={explained}
          help="The energy is estimated from comparable days; what was measured stays."
        />
      )}
      {draft.kind === 'set_day' && (
        <label class="field">
          <span class="field-name">Energy of {longDay(explained.day)}, Wh</span>
          <input
            name="energyWh"
            inputMode="numeric"
            required
            autocomplete="off"
            defaultValue={String(source.result?.energyWh ?? '')}
          />
        </label>
      )}
      <label class="field">
        <span class="field-name">Reason (everybody who can read the day can read it)</span>
        <input name="reason" required maxLength={500} autocomplete="off" />
      </label>
      {problem && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {preview && <Effect correction={preview.correction} />}
      <div class="buttons">
        <button type="submit" class="button primary" disabled={isBusy}>
          {preview ? 'Store the correction' : 'Show what would change'}
        </button>
        <button type="button" class="button quiet" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** A time of the day in steps of a quarter of an hour, as the clock of the workgroup shows it. */
function TimeFields({ explained, help }: { explained: Explained; help: string }) {
  const { zone } = useContext(PageWorkContext);
  const QUARTER_MS = 900_000;
  const [start, end] = [Date.parse(explained.start), Date.parse(explained.end)];
  const times = Array.from(
    { length: (end - start) / QUARTER_MS + 1 },
    (_, index) => start + index * QUARTER_MS,
  );
  const options = (from: number, to: number) =>
    times.slice(from, to).map((ms) => (
      <option key={ms} value={new Date(ms).toISOString()}>
        {ms === end ? '24:00' : clockTime(ms, zone)}
      </option>
    ));
  return (
    <div class="fields">
      <label class="field">
        <span class="field-name">From ({zone})</span>
        <select name="from">{options(0, times.length - 1)}</select>
      </label>
      <label class="field">
        <span class="field-name">To</span>
        <select name="to" value={new Date(end).toISOString()}>
          {options(1, times.length)}
        </select>
      </label>
      <p class="muted">{help}</p>
    </div>
  );
}

/** What a correction would change, day by day. */
function Effect({ correction: { days, dayCount } }: { correction: ListedCorrection }) {
  if (days.length === 0) return <p role="status">Nothing would change.</p>;
  return (
    <div class="effect" role="status">
      <p>
        This would change {countText(dayCount)} {dayCount === 1 ? 'day' : 'days'}. Nothing is stored yet.
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="number">
              Before
            </th>
            <th scope="col" class="number">
              After
            </th>
          </tr>
        </thead>
        <tbody>
          {days.slice(0, 10).map(({ day, source, beforeWh, afterWh }) => (
            <tr key={`${day} ${source}`}>
              <th scope="row">{longDay(day)}</th>
              <td class="number">{beforeWh === null ? 'none' : exactEnergy(beforeWh)}</td>
              <td class="number">{afterWh === null ? 'none' : exactEnergy(afterWh)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The body of the request; a text says what is wrong. */
function bodyOf(
  draft: Draft,
  form: FormData,
  explained: Explained,
  { source }: ExplainedSource,
): object | string {
  const reason = String(form.get('reason') ?? '').trim();
  if (reason === '') return 'Say why. Others will read it.';
  const { device, day } = explained;
  const from = String(form.get('from') ?? draft.from);
  const to = String(form.get('to') ?? draft.to);
  switch (draft.kind) {
    case 'undo':
      return { kind: 'undo', correction: draft.correction, reason };
    case 'set_day': {
      const energyWh = Number(String(form.get('energyWh')).replaceAll(/[\s']/g, ''));
      if (!Number.isSafeInteger(energyWh)) return 'The energy must be whole Wh, such as 28400.';
      return { kind: 'set_day', device, source, day, energyWh, reason };
    }
    case 'exclude':
    case 'fill':
      if (to <= from) return 'The time must end after it begins.';
      return { kind: draft.kind, device, source, from, to, reason };
    default:
      return draft.kind satisfies never;
  }
}
