import { useContext, useEffect, useState } from 'preact/hooks';
import type { Explained, ExplainedSource } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { dayAndTime } from '../words/time-words.ts';
import { CorrectionForm, type Draft, kindNames } from './correction-form.tsx';

/**
 * The corrections of the day, and forms for new ones. Nothing is stored before a person has seen what would
 * change.
 */
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
                “{reason}” – {nameOfAuthor(author)}, {dayAndTime(at, zone)}
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

/** The id of the token is for the audit log. */
function nameOfAuthor(author: string): string {
  return author.replace(/^token:\S+ /, '');
}
