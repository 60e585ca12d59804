import type { DescService } from "@bufbuild/protobuf";
import { createClient, ConnectError } from "@connectrpc/connect";
import type { Client, Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { CommandError } from "./output.ts";

const TIMEOUT_MS = 15_000;

/** A client of a running service that sends a bearer token. @throws {CommandError} when the URL is not one */
export function createServiceClient<S extends DescService>(service: S, url: string, token: string): Client<S> {
  if (!/^https?:$/u.test(URL.parse(url)?.protocol ?? ""))
    throw new CommandError(`--url must be the URL of the service, such as https://atrium.example; it is ${url}.`);
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createClient(
    service,
    createConnectTransport({
      baseUrl: url.replace(/\/+$/u, ""),
      httpVersion: "1.1",
      defaultTimeoutMs: TIMEOUT_MS,
      interceptors: [authorize],
    }),
  );
}

/** Awaits a call of the service. @throws {CommandError} with the reason when the service refuses it or is away */
export async function called<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const failure = ConnectError.from(error);
    const [info] = failure.findDetails(ErrorInfoSchema);
    if (info !== undefined)
      throw new CommandError(
        `The service refused the call: ${failure.rawMessage.replace(/\.$/u, "")} (${info.reason.toLowerCase()}).`,
      );
    const why = failure.cause instanceof Error ? failure.cause.message : failure.rawMessage;
    throw new CommandError(`The service cannot be called: ${why}.`);
  }
}
