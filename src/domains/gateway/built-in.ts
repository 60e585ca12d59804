import type { McpServer } from "./store.ts";

/** MCP servers that every organization is offered. The ids never change, since clients store them. */
export const BUILT_IN_SERVERS: readonly McpServer[] = [
  server("6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a01", "everything", "npx -y @modelcontextprotocol/server-everything"),
  server("6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a02", "fetch", "uvx mcp-server-fetch"),
  server("6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a03", "filesystem", "npx -y @modelcontextprotocol/server-filesystem ."),
  server("6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a04", "git", "uvx mcp-server-git"),
  server("6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a05", "memory", "npx -y @modelcontextprotocol/server-memory"),
  server(
    "6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a06",
    "sequential-thinking",
    "npx -y @modelcontextprotocol/server-sequential-thinking",
  ),
  server("6d1c0c7e-3f5b-4f0e-9d55-0f6a3b1c7a07", "time", "uvx mcp-server-time"),
];

function server(id: string, name: string, installCommand: string): McpServer {
  return { id, name, status: "available", installCommand, builtIn: true };
}
