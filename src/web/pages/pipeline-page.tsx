import { useContext } from 'preact/hooks';
import type { PipelineStatus } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { useAnswer } from '../facts/use-answer.ts';
import { Shown } from '../parts/states.tsx';
import { TimeAgo } from '../parts/time-text.tsx';
import { sentence } from '../words/sentence.ts';
import { StateSign } from './overview-state.tsx';
import { PipelineAlerts } from './pipeline-alerts.tsx';
import { PipelineBackfills } from './pipeline-backfills.tsx';
import { PipelineChain } from './pipeline-chain.tsx';
import { PipelineGaps } from './pipeline-gaps.tsx';
import { PipelineImports } from './pipeline-imports.tsx';
import { PipelineQuarantine } from './pipeline-quarantine.tsx';

/** Whether the service keeps up: its stages, gaps, backfills, imports, and what could not be read. */
export function PipelinePage() {
  const { workgroup } = useContext(PageWorkContext);
  const status = useAnswer<PipelineStatus>(workgroup.maySeeAll && 'status');
  // The stages are those of the whole workgroup.
  if (!workgroup.maySeeAll)
    return (
      <>
        <div class="page-head">
          <h1>Pipeline</h1>
        </div>
        <PipelineQuarantine />
      </>
    );
  return (
    <>
      <div class="page-head">
        <h1>Pipeline</h1>
      </div>
      <Shown of={status} what="the state of the pipeline" height={260}>
        {(answer) => (
          <>
            <PipelineState status={answer} />
            <PipelineChain status={answer} />
          </>
        )}
      </Shown>
      <PipelineAlerts />
      <PipelineGaps />
      <PipelineBackfills />
      <PipelineQuarantine />
      <PipelineImports />
    </>
  );
}

const signs = { good: 'good', attention: 'doubtful', bad: 'bad' } as const;
const FINDINGS_SHOWN = 8;

/** One state with its reason, and the other findings. */
function PipelineState({ status }: { status: PipelineStatus }) {
  const { health, reason, findings, updatedAt, state } = status;
  const others = findings.filter(({ message }) => message !== reason);
  const sign = signs[health];
  return (
    <section class={`state state-${sign}`} aria-label="State">
      <StateSign state={sign} />
      <div>
        <h2 class="state-name">{sentence(reason)}</h2>
        {others.length > 0 && (
          <ul class="plain">
            {others.slice(0, FINDINGS_SHOWN).map(({ message, since, path }) => (
              <li key={`${message} ${path}`}>
                {sentence(message)}
                {path && (
                  <>
                    {' '}
                    <code>{path}</code>
                  </>
                )}
                {since && (
                  <span class="muted">
                    {' '}
                    <TimeAgo at={since} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
        {others.length > FINDINGS_SHOWN && <p class="muted">And {others.length - FINDINGS_SHOWN} more.</p>}
        <p class="muted">
          The worker {state === 'never run' ? 'has never run' : `is ${state}`}.
          {updatedAt !== null && (
            <>
              {' '}
              It wrote this state <TimeAgo at={updatedAt} />.
            </>
          )}
        </p>
      </div>
    </section>
  );
}
