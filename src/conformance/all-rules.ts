import type { Rule } from './rule.ts';
import { accessRules } from './rules-access.ts';
import { answerRules } from './rules-answer.ts';
import { errorRules } from './rules-error.ts';
import { ingestRules } from './rules-ingest.ts';
import { limitRules } from './rules-limit.ts';
import { messageRules } from './rules-message.ts';
import { positionRules } from './rules-position.ts';
import { socketRules } from './rules-socket.ts';
import { socketDataRules } from './rules-socket-data.ts';
import { timestampRules } from './rules-timestamp.ts';
import { waitRules } from './rules-wait.ts';

/** All rules of the contract that a client can check, in the order of checking. */
export const rules: readonly Rule[] = [
  ...answerRules,
  ...messageRules,
  ...positionRules,
  ...timestampRules,
  ...limitRules,
  ...waitRules,
  ...accessRules,
  ...ingestRules,
  ...socketRules,
  ...socketDataRules,
  // These rules come last, because they check all answers so far.
  ...errorRules,
];
