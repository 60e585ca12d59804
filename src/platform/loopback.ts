/** Whether an origin is on a loopback host. */
export function isLoopback(origin: string): boolean {
  const host = URL.parse(origin)?.hostname ?? "";
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
