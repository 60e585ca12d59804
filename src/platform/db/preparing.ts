import { createLru } from "../lru.ts";

/** A statement is prepared when it comes for the fifth time; most are few and come again and again. */
const threshold = 5;
/** Prepared statements of a connection: some 50 kB each in its server process. */
const most = 400;
/** Texts whose uses are counted. */
const counted = 2_000;

interface Uses {
  count: number;
  name?: string;
}

/**
 * Decides which statements connections prepare: parsing and planning them each time costs more than most of them do.
 */
export interface Preparing {
  /** Name to prepare a text under; undefined for one that has not come often enough. */
  nameOf(text: string): string | undefined;
  /** To be told how a statement failed: once a plan no longer fits the tables, every statement gets a new name. */
  failed(error: unknown): void;
}

/** Counts the uses of statements, by their texts. */
export function createPreparing(): Preparing {
  const uses = createLru<Uses>(counted);
  let generation = 1;
  let names = 0;

  return {
    nameOf(text) {
      const known = uses.get(text);
      if (known === undefined) {
        uses.set(text, { count: 1 });
        return undefined;
      }
      if (known.name !== undefined) return `${known.name}_${generation}`;
      if (++known.count < threshold || names >= most) return undefined;
      known.name = `tx_${++names}`;
      return `${known.name}_${generation}`;
    },
    failed(error) {
      if (isStalePlan(error)) generation++;
    },
  };
}

/**
 * A migration changed what a prepared statement answers, or the server no longer has it (node-postgres closes one whose
 * values it cannot send, and forgets that it did); prepared again it is right.
 */
export function isStalePlan(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === "26000") return true;
  return code === "0A000" && typeof message === "string" && message.includes("cached plan must not change result type");
}
