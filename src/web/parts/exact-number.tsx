import {
  changePercent,
  formatChange,
  formatPower,
  formatShare,
  percentBeside,
  signedPercent,
} from '../words/number-words.ts';
import { durationWords } from '../words/time-words.ts';

/**
 * Numbers that are shown rounded. Each has its exact value in the page, as energy has it (`EnergyAmount`).
 */
function Exact({ kind, value, text }: { kind: string; value: number; text: string }) {
  return (
    <data class={`exact-${kind}`} value={value}>
      {text}
    </data>
  );
}

/** A share of 0 to 1, such as 71 %. Null is a dash. */
export function ExactShare({ share }: { share: number | null }) {
  if (share === null) return <>–</>;
  return <Exact kind="share" value={share} text={formatShare(share)} />;
}

/** Percent with its sign, such as +4.2 %. Null is a dash. */
export function ExactPercent({ percent }: { percent: number | null }) {
  if (percent === null) return <>–</>;
  return <Exact kind="percent" value={percent} text={signedPercent(percent)} />;
}

/** A difference in percent before the words of its reference: "1.4 % below". */
export function ExactPercentBeside({ percent }: { percent: number }) {
  return <Exact kind="percent" value={percent} text={percentBeside(percent)} />;
}

/** The difference to a reference before its words: "4 % more than". Nothing if the reference is zero. */
export function ExactChange({ value, reference }: { value: number; reference: number }) {
  const text = formatChange(value, reference);
  return text === undefined ? null : (
    <Exact kind="percent" value={changePercent(value, reference)} text={text} />
  );
}

/** Power in a unit that fits its size. @param watts W */
export function ExactPower({ watts }: { watts: number }) {
  return <Exact kind="power" value={watts} text={formatPower(watts)} />;
}

/** Such as "2 h 5 min". @param ms milliseconds */
export function ExactDuration({ ms }: { ms: number }) {
  return <Exact kind="duration" value={ms} text={durationWords(ms)} />;
}
