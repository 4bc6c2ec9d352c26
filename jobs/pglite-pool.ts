import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PGlite } from '@electric-sql/pglite';
import type { PgNotification, PgPool, PgPoolClient, PgQueryResult } from 'bullmq';

/**
 * A pool like node-postgres over one embedded PGlite, with the functions that BullMQ's PostgreSQL backend
 * uses. PGlite has a single session: a transaction has it until it ends, and other statements wait. PGlite
 * computes on the calling thread, so between two statements the event loop gets a turn. Otherwise the
 * statements of many workgroups would block it for seconds. Notifications reach every client. Ending the pool
 * leaves the database open.
 */
export function createPglitePool(database: PGlite): PgPool {
  const session = createSession(database);
  const clients = new Set<EventEmitter>();
  const stopNotifications = database.onNotification((channel, payload) => {
    const notification: PgNotification = { channel, payload };
    for (const client of [...clients]) client.emit('notification', notification);
  });
  const pool = new EventEmitter().setMaxListeners(0);
  return Object.assign(pool, {
    query: <R>(text: string, parameters?: readonly unknown[]) => session.run<R>(pool, text, parameters),
    connect: async () => createClient(session, clients),
    end: async () => stopNotifications(),
  });
}

interface Session {
  run<R>(owner: object, text: string, parameters: readonly unknown[] | undefined): Promise<PgQueryResult<R>>;
  /** Ends a transaction that its owner has left open. */
  leave(owner: object): void;
}

function createClient(session: Session, clients: Set<EventEmitter>): PgPoolClient {
  const client = new EventEmitter().setMaxListeners(0);
  clients.add(client);
  return Object.assign(client, {
    query: <R>(text: string, parameters?: readonly unknown[]) => session.run<R>(client, text, parameters),
    release: () => {
      clients.delete(client);
      session.leave(client);
    },
  });
}

function createSession(database: PGlite): Session {
  /** The owner of the open transaction, and its end for waiting clients. */
  let transaction: { owner: object; whenEnded: Promise<void>; end: () => void } | undefined;

  let last: Promise<unknown> = Promise.resolve();

  /** Runs statements one after another, in the order of their calls. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = last.then(() => nextTurn()).then(work);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function run<R>(owner: object, text: string, parameters: readonly unknown[] | undefined) {
    while (transaction && transaction.owner !== owner) await transaction.whenEnded;
    const verb = /^\s*(BEGIN|COMMIT|ROLLBACK)\b/i.exec(text)?.[1]?.toUpperCase();
    if (verb === 'BEGIN') {
      const { promise, resolve } = Promise.withResolvers<void>();
      transaction = { owner, whenEnded: promise, end: resolve };
    }
    try {
      return await inTurn(() => execute<R>(database, text, parameters));
    } finally {
      if (verb === 'COMMIT' || verb === 'ROLLBACK') end(owner);
    }
  }
  function end(owner: object): void {
    if (transaction?.owner !== owner) return;
    const { end: wakeOthers } = transaction;
    transaction = undefined;
    wakeOthers();
  }
  function leave(owner: object): void {
    if (transaction?.owner !== owner) return;
    void inTurn(() => database.exec('ROLLBACK'))
      .catch(() => undefined)
      .finally(() => end(owner));
  }
  return { run, leave };
}

/**
 * Without parameters a text may have several statements, as in a migration. Returns the rows of the last one.
 */
async function execute<R>(
  database: PGlite,
  text: string,
  parameters: readonly unknown[] | undefined,
): Promise<PgQueryResult<R>> {
  const result =
    parameters === undefined
      ? (await database.exec(text)).at(-1)
      : await database.query<R>(text, [...parameters]);
  const rows = (result?.rows ?? []) as R[];
  return { rows, rowCount: result?.rowCount ?? result?.affectedRows ?? rows.length };
}
