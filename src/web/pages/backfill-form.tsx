import { useContext, useState } from 'preact/hooks';
import type { PlannedBackfill } from '../facts/answers.ts';
import { operatePaths } from '../facts/operate-paths.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { useSend } from '../facts/use-send.ts';
import { shiftDay } from '../words/local-days.ts';
import { BackfillPreview } from './backfill-preview.tsx';

type Source = 'stream' | 'gaps' | 'archive';
interface Wish {
  source: Source;
  from?: string;
  to?: string;
}

const sources: ReadonlyArray<{ key: Source; name: string }> = [
  { key: 'gaps', name: 'all gaps that can still be filled' },
  { key: 'stream', name: 'days of the stream' },
  { key: 'archive', name: 'days of what is stored, with the current settings' },
];

/** Asks what to read again, shows what would be read, and starts it. */
export function BackfillForm({ onClose, onStarted }: { onClose(): void; onStarted(): void }) {
  const { today, zone } = useContext(PageWorkContext);
  const [source, setSource] = useState<Source>('gaps');
  const [plan, setPlan] = useState<{ wish: Wish; plan: PlannedBackfill } | undefined>();
  const { isBusy, problem, send } = useSend();
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (plan) {
      if (await send(operatePaths.startBackfill, plan.wish)) onStarted();
      return;
    }
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const wish: Wish =
      source === 'gaps'
        ? { source }
        : // The last day is included, and the end of a period is not.
          { source, from: String(form.get('from')), to: shiftDay(String(form.get('to')), 1) };
    const found = await send<PlannedBackfill>(operatePaths.previewBackfill, wish);
    if (found) setPlan({ wish, plan: found });
  };
  return (
    <form class="correction-form" onSubmit={onSubmit} onInput={() => setPlan(undefined)}>
      <h3>Read the past again</h3>
      <div class="fields">
        <label class="field">
          <span class="field-name">What</span>
          <select
            name="source"
            value={source}
            onChange={(event) => setSource(event.currentTarget.value as Source)}
          >
            {sources.map(({ key, name }) => (
              <option key={key} value={key} selected={key === source}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {source !== 'gaps' && (
          <>
            <label class="field">
              <span class="field-name">First day ({zone})</span>
              <input type="date" name="from" required max={today} defaultValue={shiftDay(today, -1)} />
            </label>
            <label class="field">
              <span class="field-name">Last day</span>
              <input type="date" name="to" required max={today} defaultValue={today} />
            </label>
          </>
        )}
      </div>
      {problem && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {plan && <BackfillPreview plan={plan.plan} />}
      <div class="buttons">
        <button type="submit" class="button primary" disabled={isBusy}>
          {plan ? 'Start' : 'Show what would be read'}
        </button>
        <button type="button" class="button quiet" onClick={onClose}>
          Close
        </button>
      </div>
    </form>
  );
}
