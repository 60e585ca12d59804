/** Model providers (decisions 10.12). */
export const PROVIDERS: ReadonlySet<string> = new Set(["openai", "anthropic", "google", "mistral", "bedrock"]);

/** Highest monthly budget, US dollars. */
const MAX_BUDGET_USD = 1_000_000_000;
/** Maximum number of MCP servers that an organization adds. */
export const MAX_MCP_SERVERS = 200;

/**
 * A monthly budget as an exact decimal; undefined when it is not between 0 and 1,000,000,000 with at most 2 decimals.
 * The shortest decimal that reads back as the number is what the client sent.
 */
export function budgetText(budgetUsd: number): string | undefined {
  if (!(budgetUsd >= 0 && budgetUsd <= MAX_BUDGET_USD)) return undefined;
  const text = String(budgetUsd);
  return /^\d+(\.\d{1,2})?$/u.test(text) ? text : undefined;
}
