import { defineErrors } from "../../platform/errors.ts";

/** Errors of the AI gateway settings (decisions 1.6 and 10.12). */
export const gatewayErrors = defineErrors({
  unknownProvider: [400, "unknown_provider", "provider is one of openai, anthropic, google, mistral and bedrock."],
  invalidBudget: [400, "invalid_budget", "budget_usd is 0 to 1,000,000,000 US dollars with at most 2 decimals."],
  serverNotFound: [404, "not_found", "No such MCP server."],
  serverExists: [409, "conflict", "An MCP server of this name exists; choose another name.", "duplicate"],
  builtIn: [409, "conflict", "A built-in MCP server cannot be deleted."],
  tooManyServers: [409, "conflict", "The organization has 200 MCP servers of its own; delete one first."],
});
