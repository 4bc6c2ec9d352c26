import type { ComponentChildren } from 'preact';
import type { PipelineStatus } from '../facts/answers.ts';
import { StateWord } from '../parts/state-word.tsx';
import { TimeAgo } from '../parts/time-text.tsx';
import { countText, plural } from '../words/number-words.ts';
import { sentence } from '../words/sentence.ts';
import { durationWords, timeAgo, timeSince } from '../words/time-words.ts';

type Stage = Pick<PipelineStatus['stages']['poll'], 'lastSuccessAt' | 'lastError' | 'failingSince'>;

/** The way of a message: read, landed, rolled up, published. */
export function PipelineChain({ status }: { status: PipelineStatus }) {
  const { stages, storedMessages, lastHour, quarantined } = status;
  const { poll, rollup, publish, maintain } = stages;
  return (
    <section class="card" aria-labelledby="chain">
      <h2 id="chain">From the stream to the report</h2>
      <p class="sentence">{chainSentence(status)}</p>
      <ol class="chain">
        <Link name="Read" stage={poll}>
          <Row name="Transport">{poll.transport ? transportNames[poll.transport] : '–'}</Row>
          <Row name="Behind">{lagWords(poll) ?? '–'}</Row>
        </Link>
        <Link name="Land" stage={poll}>
          <Row name="Last hour">{lastHour ? plural(lastHour.messages, 'message') : '–'}</Row>
          <Row name="Stored">{countText(storedMessages)}</Row>
          <Row name="Not used">{countText(quarantined)}</Row>
        </Link>
        <Link name="Roll up" stage={rollup}>
          <Row name="Batch">{rollup.batchId ?? '–'}</Row>
        </Link>
        <Link name="Publish" stage={publish}>
          <Row name="Generation">{publish.generation === null ? '–' : countText(publish.generation)}</Row>
        </Link>
      </ol>
      <p class="muted">
        Maintenance, which compacts files and deletes old ones: <StageState stage={maintain} />
        {maintain.lastSuccessAt && (
          <>
            , last done <TimeAgo at={maintain.lastSuccessAt} />
          </>
        )}
        .{maintain.lastError && ` ${sentence(maintain.lastError.message)}`}
      </p>
    </section>
  );
}

function chainSentence({ stages: { poll, publish }, lastHour, lagSeconds, newestReadingAt }: PipelineStatus) {
  const rate = lastHour && `${plural(lastHour.messages, 'message')} landed in the last hour`;
  const lag = lagWords(poll);
  const parts = [
    poll.upToDate === null
      ? 'Nothing has been read from the stream yet.'
      : poll.upToDate
        ? 'The stream is read to its end.'
        : `The stream is not read to its end yet${lag === undefined ? '' : `: ${lag} behind`}.`,
    rate && `${rate}.`,
    newestReadingAt && `The newest reading was measured ${timeAgo(newestReadingAt)}.`,
    publish.lastSuccessAt && `The report was last published ${timeAgo(publish.lastSuccessAt)}.`,
    lagSeconds !== null &&
      lagSeconds >= 60 &&
      `The slowest stage is ${durationWords(lagSeconds * 1_000)} behind.`,
  ];
  return parts.filter(Boolean).join(' ');
}

/** Undefined if nobody knows. */
function lagWords({ lagMessages, lagSeconds }: PipelineStatus['stages']['poll']): string | undefined {
  const parts = [
    lagMessages !== null && plural(lagMessages, 'message'),
    lagSeconds !== null && lagSeconds >= 1 && durationWords(lagSeconds * 1_000),
  ].filter(Boolean);
  return parts.length === 0 ? undefined : parts.join(', ');
}

const transportNames = { rest: 'REST', socket: 'socket.io' } as const;

function StageState({ stage }: { stage: Stage }) {
  const failing = stage.failingSince ? timeSince(stage.failingSince) : undefined;
  if (stage.lastError)
    return <StateWord kind="bad">{failing === undefined ? 'fails' : `has failed for ${failing}`}</StateWord>;
  if (stage.lastSuccessAt === null) return <StateWord kind="calm">not done yet</StateWord>;
  return <StateWord kind="good">works</StateWord>;
}

function Link({ name, stage, children }: { name: string; stage: Stage; children: ComponentChildren }) {
  return (
    <li class={stage.lastError ? 'link failing' : 'link'}>
      <h3>{name}</h3>
      <p>
        <StageState stage={stage} />
      </p>
      <dl class="rows">
        <Row name="Last success">
          <TimeAgo at={stage.lastSuccessAt} />
        </Row>
        {children}
      </dl>
      {stage.lastError && <p class="notice">{sentence(stage.lastError.message)}</p>}
    </li>
  );
}

function Row({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
