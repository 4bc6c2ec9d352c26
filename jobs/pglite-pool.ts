import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PGlite } from '@electric-sql/pglite';
import type { PgNotification, PgPool, PgPoolClient, PgQueryResult } from 'bullmq';

/**
 * A node-postgres pool over one embedded PGlite, as far as BullMQ's PostgreSQL backend uses one.
 * PGlite is a single session: a client that opens a transaction has it to itself until it commits, rolls back or is
 * released, and the statements of the others wait. It computes on the thread that asks, so between two statements everything else that the
 * process has to do gets a turn: with many workgroups the statements would else follow upon one another for seconds. Notifications reach every client, whichever one listens.
 * Ending the pool leaves the database open; it belongs to its opener.
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
  /** Who has a transaction open, and the end of that transaction for those who wait. */
  let transaction: { owner: object; ended: Promise<void>; end: () => void } | undefined;

  let last: Promise<unknown> = Promise.resolve();

  /** Runs one statement after the other, in the order in which they are asked for. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = last.then(() => nextTurn()).then(work);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function run<R>(owner: object, text: string, parameters: readonly unknown[] | undefined) {
    while (transaction && transaction.owner !== owner) await transaction.ended;
    const verb = /^\s*(BEGIN|COMMIT|ROLLBACK)\b/i.exec(text)?.[1]?.toUpperCase();
    if (verb === 'BEGIN') {
      const { promise, resolve } = Promise.withResolvers<void>();
      transaction = { owner, ended: promise, end: resolve };
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

/** Without parameters a text may hold several statements, as a migration does; the last one's rows are the answer. */
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
