import { createLru } from "../lru.ts";

/** A statement is prepared at its fifth use. */
const USES_BEFORE_PREPARING = 5;
/** Maximum number of prepared statements per connection: each takes about 50 kB in its server process. */
const MAX_PREPARED = 400;
/** Maximum number of texts whose uses are counted. */
const MAX_COUNTED = 2_000;

interface Uses {
  count: number;
  name?: string;
}

/**
 * Decides which statements connections prepare: parsing and planning most statements costs more than running them.
 */
export interface StatementNames {
  /** Returns the name to prepare a text under; undefined until it has been used often enough. */
  nameOf(text: string): string | undefined;
  /** Gives every statement a new name when `error` shows that prepared plans no longer fit the tables. */
  onError(error: unknown): void;
}

/** Counts the uses of statements by their texts. */
export function createStatementNames(): StatementNames {
  const uses = createLru<Uses>(MAX_COUNTED);
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
      if (++known.count < USES_BEFORE_PREPARING || names >= MAX_PREPARED) return undefined;
      known.name = `tx_${++names}`;
      return `${known.name}_${generation}`;
    },
    onError(error) {
      if (isStalePlan(error)) generation++;
    },
  };
}

/**
 * Whether preparing the statement again fixes the error: a migration changed its result type, or the server no longer
 * has it (node-postgres closes a statement whose values it cannot send, and keeps its name).
 */
export function isStalePlan(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === "26000") return true;
  return code === "0A000" && typeof message === "string" && message.includes("cached plan must not change result type");
}
