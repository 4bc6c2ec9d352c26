import { randomBytes } from 'node:crypto';
import { formatCountOf } from '../lib/format-count.ts';
import { must } from './breach.ts';
import { contractSections, type Rule } from './rule.ts';
import { ownMessages, readToTail, sampleOf, telemetryItem } from './sample-messages.ts';
import type { Sent } from './sent-request.ts';
import { describeAnswer, errorOf, shorten } from './server-answer.ts';

/** Rules on who may read and write. */
export const accessRules: readonly Rule[] = [
  {
    id: 'access.no-token',
    says: 'Without a token it is 401 AuthenticationRequired, WWW-Authenticate: Bearer',
    source: contractSections.access,
    async check(probe) {
      const answer = await probe.read('', { token: null });
      errorOf(answer, 401, 'AuthenticationRequired');
      const challenge = answer.header('www-authenticate') ?? 'absent';
      must(/^bearer\b(?!.*error=)/i.test(challenge), () => `WWW-Authenticate: ${challenge}`, answer.sent);
    },
  },
  {
    id: 'access.bad-token',
    says: 'With an invalid token it is 401 InvalidToken, WWW-Authenticate: Bearer error="invalid_token"',
    source: contractSections.access,
    async check(probe) {
      const answer = await probe.read('', { token: 'no-token' });
      errorOf(answer, 401, 'InvalidToken');
      const challenge = answer.header('www-authenticate') ?? 'absent';
      must(
        /^bearer\b.*error="?invalid_token/i.test(challenge),
        () => `WWW-Authenticate: ${challenge}`,
        answer.sent,
      );
    },
  },
  {
    id: 'access.workgroup',
    says: 'A workgroup that the token does not name is 403 WorkgroupForbidden, with the required scopes',
    source: contractSections.access,
    async check(probe) {
      const answer = await probe.read('', { workgroup: `nobody-${randomBytes(4).toString('hex')}` });
      const { required } = errorOf(answer, 403, 'WorkgroupForbidden');
      mustRequire(required, 'search:read', answer.sent);
    },
  },
  {
    id: 'access.workgroup-hidden',
    says: 'The answer is the same whether or not the workgroup exists',
    source: contractSections.access,
    needs: ['foreign-workgroup'],
    async check(probe) {
      const workgroup = probe.target.foreignWorkgroup!;
      const missing = await probe.read('', { workgroup: `nobody-${randomBytes(4).toString('hex')}` });
      const existing = await probe.read('', { workgroup });
      must(
        existing.status === missing.status && Buffer.compare(existing.bytes, missing.bytes) === 0,
        () => `${describeAnswer(existing)}; for one that does not exist ${describeAnswer(missing)}`,
        existing.sent,
      );
    },
  },
  {
    id: 'access.audit',
    says: 'audit_logs and - are 403 InsufficientScope without org:audit, with the required scopes',
    source: contractSections.access,
    needs: ['restricted-token'],
    async check(probe) {
      const token = probe.target.restrictedToken!;
      for (const table of ['audit_logs', '-']) {
        const answer = await probe.read('', { table, token });
        const { required } = errorOf(answer, 403, 'InsufficientScope');
        mustRequire(required, 'org:audit', answer.sent);
      }
    },
  },
  {
    id: 'access.devices',
    says: 'A token with device groups reads only their devices, and its position moves on',
    source: contractSections.access,
    needs: ['restricted-token', 'write'],
    async check(probe) {
      await ownMessages(probe);
      const { messages } = await sampleOf(probe);
      const token = probe.target.restrictedToken!;
      const seen = await readToTail(probe, `offset=${messages[0]!.offset}`, { token });
      must(
        seen.messages.length === 0,
        () => `${formatCountOf(seen.messages.length, 'message')} of a device that is in no group`,
        seen.sent,
      );
      const last = messages.at(-1)!.offset;
      must(
        seen.nextOffset > last,
        () => `nextOffset ${seen.nextOffset}, before the last message ${last}`,
        seen.sent,
      );
    },
  },
  {
    id: 'access.write',
    says: 'Messages are accepted only with the scope data:write',
    source: contractSections.access,
    needs: ['restricted-token', 'write'],
    async check(probe) {
      const answer = await probe.send([telemetryItem(probe, 0)], { token: probe.target.restrictedToken! });
      const { required } = errorOf(answer, 403, 'InsufficientScope');
      mustRequire(required, 'data:write', answer.sent);
    },
  },
];

function mustRequire(required: unknown, scope: string, sent: Sent): void {
  must(Array.isArray(required) && required.includes(scope), () => `required is ${shorten(required)}`, sent);
}
