import { useContext, useState } from 'preact/hooks';
import type { Explained, ExplainedSource } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactShare } from '../parts/exact-number.tsx';
import { FlagList } from '../parts/flag-list.tsx';
import { StatusWord } from '../parts/status-word.tsx';
import { WhyPicture } from '../pictures/why-picture.tsx';
import { flagName, flagText, sortFlags } from '../words/flag-words.ts';
import { identifierWords } from '../words/identifier-words.ts';
import { exactEnergy } from '../words/number-words.ts';
import { dayAndTime } from '../words/time-words.ts';
import { CorrectionPanel } from './correction-panel.tsx';
import { ReadingTable, StreamTable, SumTable, VersionTable } from './why-tables.tsx';

/** Everything from which the energy of one source on a day follows. */
export function WhySource(props: { explained: Explained; source: ExplainedSource; refresh(): void }) {
  const { explained, source, refresh } = props;
  const [picked, setPicked] = useState<{ from: string; to: string } | undefined>();
  const { flags, sum } = source;
  // The reason of a flag is often the text of an event, or the text of the coverage. Such a text is shown
  // once.
  const isTold = (text: string) => flags.some(({ reason }) => reason === text);
  const events = source.events.filter(({ text }) => !isTold(text));
  return (
    <>
      <section class="card" aria-labelledby="result">
        <h2 id="result" class="visually-hidden">
          {source.source}
        </h2>
        <ResultFacts explained={explained} source={source} isTold={isTold} />
        {flags.length > 0 && <FlagReasons flags={flags} />}
      </section>
      <section class="card" aria-labelledby="readings">
        <h2 id="readings">Readings and what became of them</h2>
        <WhyPicture explained={explained} source={source} onPick={setPicked} />
        {events.length > 0 && (
          <>
            <h3>What happened</h3>
            <ul class="plain events">
              {events.map((event, index) => (
                <li key={index}>
                  <strong>{flagName(event.kind)}</strong>: {event.text}
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      <section class="card" aria-labelledby="sum">
        <h2 id="sum">The sum, written out</h2>
        <p class="formula">{sum.text}</p>
        {!sum.agrees && (
          <p class="stale">This sum does not equal the stored energy. Newer readings are being computed.</p>
        )}
        <SumTable source={source} dayEnd={explained.end} />
      </section>
      <CorrectionPanel explained={explained} source={source} picked={picked} onDone={refresh} />
      <details class="more">
        <summary>All readings ({source.readings.length})</summary>
        <ReadingTable explained={explained} source={source} onPick={setPicked} />
      </details>
      {explained.wholeDevice && explained.wholeDevice.sources.length > 1 && (
        <details class="more">
          <summary>How the device follows from its sources: {explained.wholeDevice.text}</summary>
          <DeviceSources sources={explained.wholeDevice.sources} />
        </details>
      )}
      <details class="more">
        <summary>Fields that could measure it, and why this one ({source.streams.length})</summary>
        <StreamTable source={source} />
      </details>
      <details class="more" open={source.versions.length > 1}>
        <summary>Versions ({source.versions.length})</summary>
        <VersionTable source={source} />
      </details>
    </>
  );
}

/** The energy, and what it follows from. @param props.isTold true for a text that is said elsewhere */
function ResultFacts(props: {
  explained: Explained;
  source: ExplainedSource;
  isTold(text: string): boolean;
}) {
  const { explained, source, isTold } = props;
  const { zone } = useContext(PageWorkContext);
  const { result, coverage } = source;
  return (
    <dl class="facts">
      <div class="fact-main">
        <dt>{source.source === 'default' ? (explained.name ?? 'Energy') : source.source}</dt>
        <dd>
          {result ? (
            <span class="big">
              <EnergyAmount wh={result.energyWh} />
            </span>
          ) : (
            'no energy'
          )}
        </dd>
        {result && <dd class="muted">{exactEnergy(result.energyWh)}</dd>}
      </div>
      {result && (
        <>
          <div>
            <dt>Status</dt>
            <dd>
              <StatusWord status={result.status} />, version {result.version}
            </dd>
            <dd class="muted">computed {dayAndTime(result.computedAt, zone)}</dd>
          </div>
          <div>
            <dt>Read from</dt>
            <dd>
              {result.table}.{result.field}
            </dd>
            <dd class="muted">{identifierWords(result.method)}</dd>
          </div>
          <div>
            <dt>Measured</dt>
            <dd>
              <ExactShare share={result.coverage} /> of the day
            </dd>
            {!isTold(coverage.text) && <dd class="muted">{coverage.text}</dd>}
          </div>
          <div>
            <dt>Flags</dt>
            <dd>
              <FlagList flags={result.flags} />
            </dd>
          </div>
        </>
      )}
    </dl>
  );
}

/** What each flag means here. */
function FlagReasons({ flags }: { flags: ExplainedSource['flags'] }) {
  return (
    <ul class="plain flag-reasons">
      {sortFlags(flags.map(({ flag }) => flag)).map((name) => {
        const flag = flags.find((one) => one.flag === name)!;
        return (
          <li key={name} title={flagText(name)}>
            <strong>{flagName(name)}</strong>: {flag.reason || flag.meaning}
          </li>
        );
      })}
    </ul>
  );
}

/** How each source of a device counts. */
function DeviceSources({ sources }: { sources: NonNullable<Explained['wholeDevice']>['sources'] }) {
  return (
    <ul class="plain">
      {sources.map(({ source: name, role, counts, energyWh, reason }) => (
        <li key={`${name} ${role}`}>
          <strong>{name}</strong> <EnergyAmount wh={energyWh} /> – {counts ? 'counts' : 'does not count'}:{' '}
          {reason}
        </li>
      ))}
    </ul>
  );
}
