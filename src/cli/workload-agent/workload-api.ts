import { Code, ConnectError } from "@connectrpc/connect";
import type { ConnectRouter, HandlerContext, Interceptor } from "@connectrpc/connect";
import { SpiffeWorkloadAPI } from "../../../gen/spiffe/workload/workload_pb.ts";
import { validateJwtSvid } from "./jwt-validation.ts";
import type { Keeper, Material, Missing } from "./keeper.ts";
import { faultsOf, isRefusal, isUnread } from "./server.ts";
import type { Server } from "./server.ts";

/** Demands the header that a browser or proxy tricked into a call does not send (SPIFFE Workload Endpoint §4). */
export const requireHeader: Interceptor = (next) => (request) => {
  if (request.header.get("workload.spiffe.io") !== "true")
    throw new ConnectError("the header workload.spiffe.io: true is missing", Code.InvalidArgument);
  return next(request);
};

/** Serves the SPIFFE Workload API. Methods for WIT-SVIDs are not implemented. */
export function workloadApi({ feed, server }: Keeper, stop: AbortSignal): (router: ConnectRouter) => void {
  async function* watched(call: HandlerContext): AsyncIterable<Material> {
    for await (const material of feed.watch(AbortSignal.any([call.signal, stop]))) {
      // A stream waits for the first SVID.
      if (material !== "unavailable") yield present(material);
    }
    if (stop.aborted) throw new ConnectError("the agent stops", Code.Unavailable);
  }

  async function* responses<T>(call: HandlerContext, print: (material: Material) => T): AsyncIterable<T> {
    let last: string | undefined;
    for await (const material of watched(call)) {
      const response = print(material);
      // A new SVID is no news for those who read bundles alone.
      const text = fingerprint(response);
      if (text !== last) yield response;
      last = text;
    }
  }

  /**
   * Calls the service. Calls again where a renewal of the SVID has closed the connection under the call, and once where
   * the response was not read to its end.
   */
  async function callService<T>(call: (connection: Server) => Promise<T>): Promise<T> {
    for (let unread = 0; ; ) {
      const connection = server();
      if (connection === undefined) throw unavailable();
      try {
        return await call(connection);
      } catch (error) {
        if (server() === connection && (!isUnread(error) || ++unread > 1)) throw error;
      }
    }
  }

  async function jwtSvid(audience: string[], spiffeId: string) {
    if (audience.length === 0 || audience.includes(""))
      throw new ConnectError("an audience is required", Code.InvalidArgument);
    const { svid } = present(feed.current());
    if (spiffeId !== "" && spiffeId !== svid.spiffeId)
      throw new ConnectError("the workload has no such SPIFFE id", Code.PermissionDenied);
    try {
      const issued = await callService((connection) =>
        connection.spiffe.issueJwtSvid({ audience: [...new Set(audience)] }),
      );
      return { spiffeId: issued.spiffeId, svid: issued.svid };
    } catch (error) {
      if (isRefusal(error)) throw new ConnectError("the service refused the identity", Code.PermissionDenied);
      const refusal = ConnectError.from(error);
      throw refusal.code === Code.InvalidArgument ? new ConnectError(faultsOf(refusal), refusal.code) : unavailable();
    }
  }

  return (router) =>
    router.service(SpiffeWorkloadAPI, {
      fetchX509SVID: (_request, call) =>
        responses(call, ({ svid, trust }) => ({
          svids: [{ spiffeId: svid.spiffeId, x509Svid: svid.certDer, x509SvidKey: svid.keyDer, bundle: trust.roots }],
          crl: [trust.crl],
        })),
      fetchX509Bundles: (_request, call) =>
        responses(call, ({ trust }) => ({ crl: [trust.crl], bundles: { [trust.trustDomain]: trust.roots } })),
      fetchJWTSVID: async ({ audience, spiffeId }) => ({ svids: [await jwtSvid(audience, spiffeId)] }),
      fetchJWTBundles: (_request, call) =>
        responses(call, ({ trust }) => ({ bundles: { [trust.trustDomain]: Buffer.from(trust.jwks) } })),
      validateJWTSVID: ({ audience, svid }) => validateJwtSvid(present(feed.current()).trust, audience, svid),
    });
}

/** @throws ConnectError PERMISSION_DENIED when the workload has no identity, UNAVAILABLE while that is not known */
function present(material: Material | Missing): Material {
  if (material === "refused") throw new ConnectError("the workload has no identity", Code.PermissionDenied);
  if (material === "unavailable") throw unavailable();
  return material;
}

const unavailable = (): ConnectError => new ConnectError("the service cannot be asked", Code.Unavailable);

const fingerprint = (response: unknown): string =>
  JSON.stringify(response, (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
  );
