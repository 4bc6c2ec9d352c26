import { useContext, useState } from 'preact/hooks';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import type { CorrectionAnswer, Explained, ExplainedSource } from '../facts/answers.ts';
import { askService, RequestError } from '../facts/ask-service.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { intervalMs } from '../words/time-units.ts';
import { clockTimes, clockTimeToSecond, longDay } from '../words/time-words.ts';
import { CorrectionEffect } from './correction-effect.tsx';

type Kind = 'exclude' | 'set_day' | 'fill' | 'undo';
/** A correction before it has a reason. */
export interface Draft {
  kind: Kind;
  from?: string | undefined;
  to?: string | undefined;
  correction?: number | undefined;
}

export const kindNames: Readonly<Record<Exclude<Kind, 'undo'>, string>> = {
  exclude: 'Leave readings out',
  set_day: 'Set the energy of the day',
  fill: 'Estimate what is missing',
};

/** Asks for the facts of a correction, shows what it would change, and stores it. */
export function CorrectionForm(props: {
  draft: Draft;
  explained: Explained;
  source: ExplainedSource;
  onClose(): void;
  onDone(): void;
}) {
  const { draft, explained, source, onClose, onDone } = props;
  const { token, root, onSignedOut } = useContext(PageWorkContext);
  const [preview, setPreview] = useState<{ body: unknown; correction: ListedCorrection } | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);

  const send = async (body: unknown, purpose: 'preview' | 'store') => {
    setBusy(true);
    setProblem(undefined);
    try {
      const result = await askService<CorrectionAnswer>(
        `${root}corrections${purpose === 'preview' ? '?dryRun=true' : ''}`,
        {
          token,
          method: 'POST',
          body,
        },
      );
      if (purpose === 'preview') setPreview({ body, correction: result!.answer.correction });
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
    if (preview) return void send(preview.body, 'store');
    const body = bodyOf(draft, new FormData(event.currentTarget as HTMLFormElement), explained, source);
    if (typeof body === 'string') setProblem(body);
    else void send(body, 'preview');
  };
  return (
    <form class="correction-form" onSubmit={onSubmit} onInput={() => setPreview(undefined)}>
      <h3>{draft.kind === 'undo' ? `Undo correction ${draft.correction}` : kindNames[draft.kind]}</h3>
      <DraftFields draft={draft} explained={explained} source={source} />
      <label class="field">
        <span class="field-name">Reason (everybody who can read the day can read it)</span>
        <input name="reason" required maxLength={500} autocomplete="off" />
      </label>
      {problem && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {preview && <CorrectionEffect correction={preview.correction} />}
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

/** The fields that a kind of correction needs in addition to its reason. */
function DraftFields(props: { draft: Draft; explained: Explained; source: ExplainedSource }) {
  const { draft, explained, source } = props;
  const { zone } = useContext(PageWorkContext);
  const isOne = draft.kind === 'exclude' && draft.from !== explained.start;
  return (
    <>
      {isOne && (
        <p>
          The reading of {clockTimeToSecond(draft.from!, zone)} is left out, now and whenever it comes again.
        </p>
      )}
      {draft.kind === 'exclude' && !isOne && (
        <TimeFields
          explained={explained}
          help="All readings in this time are left out, also those that come later."
        />
      )}
      {draft.kind === 'fill' && (
        <>
          <TimeFields explained={explained} help="The energy is estimated from comparable days." />
          <label class="check">
            <input type="checkbox" name="replace" />
            Replace what was measured, too
          </label>
        </>
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
    </>
  );
}

/** A time of the day in steps of a quarter of an hour, as the clock of the workgroup shows it. */
function TimeFields({ explained, help }: { explained: Explained; help: string }) {
  const { zone } = useContext(PageWorkContext);
  const [start, end] = [Date.parse(explained.start), Date.parse(explained.end)];
  const times = Array.from(
    { length: (end - start) / intervalMs + 1 },
    (_, index) => start + index * intervalMs,
  );
  const names = [...clockTimes(times.slice(0, -1), zone), '24:00'];
  const options = (from: number, to: number) =>
    times.slice(from, to).map((ms, index) => (
      <option key={ms} value={new Date(ms).toISOString()}>
        {names[from + index]}
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
    case 'fill': {
      if (to <= from) return 'The end must be later than the beginning.';
      const replace = draft.kind === 'fill' && form.has('replace');
      return { kind: draft.kind, device, source, from, to, reason, ...(replace && { replace }) };
    }
    default:
      return draft.kind satisfies never;
  }
}
