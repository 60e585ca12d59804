/** Statuses of a response that `fetch` would follow. */
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * A `fetch` that fails at a redirect. It asks for "manual", since Cloudflare Workers throw at "error".
 * @param fetch default: `globalThis.fetch`
 */
export function directFetch(fetch: typeof globalThis.fetch | undefined): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await (fetch ?? globalThis.fetch)(input, { ...init, redirect: "manual" });
    if (response.type !== "opaqueredirect" && !REDIRECTS.includes(response.status)) return response;
    await response.body?.cancel();
    // What `fetch` itself throws at a redirect with "error".
    throw new TypeError("The service responded with a redirect, which is not followed.");
  };
}
